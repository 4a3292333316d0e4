// CodeMirror over the textarea of the SQL page. The textarea keeps the text: without this module it is the editor.
import { EditorState, Compartment, Prec, EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, defaultKeymap, history, historyKeymap, HighlightStyle, syntaxHighlighting, bracketMatching, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, acceptCompletion, sql, SQLDialect, tags } from "../vendor/codemirror.min.js";

// DuckDB's keywords in queries, its types, and functions that questions about calls need.
const dialect = SQLDialect.define({
  keywords: "all and anti any array as asc asof between by case cast collate cross cube current date day desc describe distinct else end except exclude exists explain extract false filter first following for from full group grouping having hour ilike in inner intersect interval is isnull join lateral last left like limit materialized minute month natural not notnull null nulls offset on or order outer over partition pivot positional preceding qualify range recursive replace right rollup row rows sample second select semi sets show similar some struct summarize symmetric table then time timestamp to trailing true try_cast unbounded union unpivot unnest using values when where window with within without year zone",
  types: "bigint blob boolean date decimal double float hugeint integer interval json list map real smallint text time timestamp timestamptz tinyint ubigint uinteger uuid varchar",
  builtin: "abs any_value approx_quantile arg_max arg_min avg bool_and bool_or ceil coalesce concat contains corr count date_diff date_part date_trunc epoch epoch_ms epoch_us exp first floor greatest histogram ifnull json_extract json_extract_string json_keys lag last lead least len length list ln log lower max md5 median min mode now ntile nullif percent_rank quantile_cont rank regexp_extract regexp_matches regexp_replace round row_number split_part starts_with stddev strftime string_agg strip_accents substring sum time_bucket trim try_strptime upper variance",
  doubleDollarQuotedStrings: true, operatorChars: "+-*/<>=~!@#%^&|`?", charSetCasts: false,
});
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--link)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--second)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.typeName, color: "var(--warn)" },
]);
const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--faint)", border: "1px solid var(--line)", borderRadius: "4px", fontSize: ".9rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", minHeight: "19rem", maxHeight: "60vh", overflow: "auto" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--quiet)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent-soft) 45%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 35%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "4px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
  ".cm-completionDetail": { color: "var(--quiet)" },
  ".cm-completionInfo": { maxWidth: "24rem", padding: ".4rem .6rem" },
});

// Text typed over a selection: Chrome would give it the style of the replaced text as an attribute, which the policy refuses.
function typeOverSelection(event, view) {
  const { from, to, empty } = view.state.selection.main;
  if (event.inputType !== "insertText" || !event.data || empty || view.composing) return false;
  event.preventDefault();
  const insert = () => view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, event.data, insert))) view.dispatch(insert());
  return true;
}

export function mount(textarea, place, run) {
  const language = new Compartment();
  const support = (schema, source) => {
    const found = sql({ dialect, schema, upperCaseKeywords: true });
    return source ? [found, found.language.data.of({ autocomplete: source })] : found;
  };
  let ours = false;
  const view = new EditorView({
    parent: place,
    state: EditorState.create({
      doc: textarea.value,
      extensions: [
        EditorView.cspNonce.of(place.dataset.nonce),
        EditorView.domEventHandlers({ beforeinput: typeOverSelection }),
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => { run(); return true; } }])),
        keymap.of([{ key: "Tab", run: acceptCompletion }, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
        lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), closeBrackets(), autocompletion({ icons: false }),
        language.of(support({})), syntaxHighlighting(colours), look,
        EditorView.contentAttributes.of({ "aria-label": document.querySelector(`label[for=${textarea.id}]`).textContent, "aria-describedby": textarea.getAttribute("aria-describedby"), "data-search": "" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged || ours) return;
          textarea.value = view.state.doc.toString();
          textarea.dispatchEvent(new Event("input", { bubbles: true }));
        }),
      ],
    }),
  });
  // a script, or a test, may set the text of the textarea
  const read = () => {
    if (view.state.doc.toString() === textarea.value) return;
    ours = true;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: textarea.value } });
    ours = false;
  };
  textarea.addEventListener("input", read);
  textarea.classList.add("sr");
  textarea.tabIndex = -1;
  textarea.setAttribute("aria-hidden", "true");
  textarea.removeAttribute("data-search");
  textarea.required = false;
  place.hidden = false;
  document.querySelector(`label[for=${textarea.id}]`).addEventListener("click", (event) => { event.preventDefault(); view.focus(); });

  // Columns without a table before them: those of the tables that the statement names.
  const columnsOf = (tables) => (context) => {
    const word = context.matchBefore(/\w+/);
    if ((!word && !context.explicit) || context.matchBefore(/\.\w*/)) return null;
    const text = context.state.doc.toString();
    const options = new Map();
    for (const table of tables) {
      if (!new RegExp(`\\b${table.name}\\b`, "i").test(text)) continue;
      for (const [label, detail, info] of table.columns) options.set(label, { label, detail: detail.toLowerCase(), info, type: "property", boost: 2 });
    }
    return { from: word ? word.from : context.pos, options: [...options.values()], validFor: /^\w*$/ };
  };
  const complete = (tables) => view.dispatch({
    effects: language.reconfigure(support(Object.fromEntries(tables.map((table) => [table.name, {
      self: { label: table.name, type: "type", info: table.meaning },
      children: table.columns.map(([label, detail, info]) => ({ label, detail: detail.toLowerCase(), info, type: "property" })),
    }])), columnsOf(tables))),
  });
  fetch(place.dataset.schema).then((response) => (response.ok ? response.json() : [])).then(complete, () => {});
  return {
    read,
    focus: () => view.focus(),
    insert: (text) => { view.dispatch(view.state.replaceSelection(text)); view.focus(); },
  };
}
