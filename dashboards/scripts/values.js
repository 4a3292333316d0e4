// Copies a whole recorded value: the page may have only its front.
const words = JSON.parse(document.getElementById("words").textContent);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-from]");
  if (!button) return;
  const text = fetch(button.dataset.copyFrom).then((answer) => answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText)));
  await navigator.clipboard.writeText(await text);
  const before = button.textContent;
  button.textContent = words["js.copied"];
  setTimeout(() => { button.textContent = before; }, 1500);
});
