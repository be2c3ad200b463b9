/** The file in an editor: TOML, errors at their line, completion from the schema. Loaded when it is first shown. */

import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import type { ScenarioError, Tables } from "../engine/engine";
import { complete } from "./complete";

/** Colours are those of tokens.css, which reach into the shadow tree. */
const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "var(--text-small)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--soft)", backgroundColor: "var(--wash)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--accent-wash)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--under)" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--paper)", border: "1px solid var(--edge)" },
  ".cm-tooltip.cm-completionInfo": { maxWidth: "24rem", padding: "4px 8px", fontFamily: "var(--font)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--on-accent)", backgroundColor: "var(--accent)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--error)", fontFamily: "var(--font)" },
});

const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
    { tag: [tags.propertyName, tags.variableName], color: "var(--accent)" },
    { tag: [tags.string, tags.number, tags.atom, tags.bool], color: "var(--good)" },
    { tag: [tags.bracket, tags.definition(tags.name), tags.heading], color: "var(--ink)", fontWeight: "600" },
  ]),
);

export type EditorOptions = {
  text: string;
  tables: () => Tables | null;
  changed: (text: string) => void;
};

/** In a shadow tree, where styles need no element: the page's policy allows none. */
export class Editor {
  readonly #view: EditorView;

  constructor(host: HTMLElement, { text, tables, changed }: EditorOptions) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    this.#view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          closeBrackets(),
          StreamLanguage.define(toml),
          colours,
          theme,
          lintGutter(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Scenario file, TOML" }),
          autocompletion({ override: [(context) => proposals(context.state.doc.toString(), context.pos, context.explicit, tables())] }),
          // Tab leaves the editor, as everywhere in the page.
          keymap.of([...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed(update.state.doc.toString());
          }),
        ],
      }),
    });
  }

  /** Takes a text that came from elsewhere: what is equal at both ends stays, and the cursor with it. */
  take(text: string): void {
    const now = this.#view.state.doc.toString();
    if (text === now) return;
    let from = 0;
    while (from < Math.min(text.length, now.length) && text[from] === now[from]) from += 1;
    let end = 0;
    while (end < Math.min(text.length, now.length) - from && text.at(-1 - end) === now.at(-1 - end)) end += 1;
    this.#view.dispatch({ changes: { from, to: now.length - end, insert: text.slice(from, text.length - end) } });
  }

  /** Shows an error at its line, at the first without one. */
  mark(error: ScenarioError | null): void {
    const { doc } = this.#view.state;
    const line = error && doc.line(Math.min(Math.max(error.line ?? 1, 1), doc.lines));
    const found = error && line ? [{ from: line.from, to: line.to, severity: "error" as const, message: error.message }] : [];
    this.#view.dispatch(setDiagnostics(this.#view.state, found));
  }

  destroy(): void {
    this.#view.destroy();
  }
}

function proposals(text: string, at: number, isAsked: boolean, tables: Tables | null) {
  const found = tables && complete(text, at, tables);
  if (!found || (!isAsked && found.from === at)) return null;
  return { from: found.from, options: found.proposals, validFor: /^[\w.-]*$/ };
}
