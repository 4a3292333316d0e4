// The entry of vendor/codemirror.min.js: the parts of CodeMirror 6 that the SQL page uses. `make codemirror` builds it.
export { EditorState, Compartment, Prec } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, placeholder } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { HighlightStyle, syntaxHighlighting, bracketMatching } from "@codemirror/language";
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, startCompletion, acceptCompletion } from "@codemirror/autocomplete";
export { sql, SQLDialect } from "@codemirror/lang-sql";
export { tags } from "@lezer/highlight";
