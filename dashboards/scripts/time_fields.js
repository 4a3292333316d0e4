// The fields of a time range: shown in the reader's zone, sent as UTC. Without a script they are UTC.
import { within } from "./numbers.js";
import { isUtc, zoneName } from "./zone.js";

function toTime(field) {
  return field.dataset.zone === "local" ? Date.parse(field.value) : Date.parse(`${field.value}Z`);
}

// The time as the field's text, in the zone that the page shows.
function toText(at) {
  const shift = isUtc() ? 0 : new Date(at).getTimezoneOffset() * 60e3;
  return new Date(at - shift).toISOString().slice(0, 19);
}

export function timeFields(part) {
  for (const form of within(part, ".range > form")) {
    for (const field of form.querySelectorAll("input[type=datetime-local]")) {
      const at = toTime(field);
      field.dataset.zone = isUtc() ? "utc" : "local";
      if (!Number.isNaN(at)) field.value = toText(at);
    }
    form.querySelector(".zone-name").textContent = zoneName();
    if ("done" in form.dataset) continue;
    form.dataset.done = "";
    form.addEventListener("formdata", ({ formData }) => {
      for (const field of form.querySelectorAll("input[type=datetime-local]")) {
        if (field.value) formData.set(field.name, new Date(toTime(field)).toISOString().replace(/\.000Z$/, "Z"));
        else formData.delete(field.name);
      }
    });
  }
}
