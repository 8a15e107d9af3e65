import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { markdown } from '@codemirror/lang-markdown';
import { defaultHighlightStyle, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { linter, lintKeymap } from '@codemirror/lint';
import { unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Annotation, EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { nonce } from '../session/nonce';
import type { CodeEditorProps, Language } from './code-editor';

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: '13px', maxHeight: '32rem' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', overflow: 'auto', minHeight: 'inherit' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    minHeight: 'inherit',
    backgroundColor: 'var(--sunken)',
    color: 'var(--muted)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft) !important',
  },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    borderColor: 'var(--line)',
  },
  '.cm-changedLine': { backgroundColor: 'var(--good-soft) !important' },
  '.cm-changedText': { background: 'color-mix(in srgb, var(--good) 15%, transparent) !important' },
  '.cm-collapsedLines': {
    background: 'var(--sunken) !important',
    color: 'var(--muted) !important',
  },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-soft) !important' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.heading, fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strong, fontWeight: '600' },
  { tag: [tags.link, tags.url], color: 'var(--accent)' },
]);

const faultsOfJson = jsonParseLinter();

function languageOf(language: Language): Extension {
  if (language === 'json')
    return [json(), linter((view) => (view.state.doc.length === 0 ? [] : faultsOfJson(view)))];
  return language === 'markdown' ? markdown() : [];
}

function common(label: string, language: Language): Extension {
  return [
    EditorView.cspNonce.of(nonce),
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorView.lineWrapping,
    lineNumbers(),
    highlightSelectionMatches(),
    syntaxHighlighting(colours),
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    languageOf(language),
    look,
  ];
}

/** Marks what the program wrote: only what the person writes is reported. */
const fromElsewhere = Annotation.define<boolean>();

const boxClass = 'overflow-hidden rounded-md border border-line-strong';

export function CodeMirror({ label, value, onChange, language = 'text', readOnly = false }: CodeEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const change = useRef(onChange);
  const first = useRef(value);
  /** Told by this editor and not yet given back as its value. */
  const told = useRef<string[]>([]);
  useEffect(() => {
    change.current = onChange;
  });
  useEffect(() => {
    if (box.current === null) return undefined;
    const made = new EditorView({
      parent: box.current,
      doc: first.current,
      extensions: [
        history(),
        keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]),
        EditorState.readOnly.of(readOnly),
        EditorView.updateListener.of((update) => {
          const isOwn = update.transactions.some((one) => one.annotation(fromElsewhere) === true);
          if (!update.docChanged || isOwn || change.current === undefined) return;
          const text = update.state.doc.toString();
          told.current.push(text);
          change.current(text);
        }),
        common(label, language),
      ],
    });
    // A window around the editor would close. The editor's own panels have had the key by then.
    made.dom.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') event.stopPropagation();
    });
    view.current = made;
    return () => made.destroy();
  }, [label, language, readOnly]);
  useEffect(() => {
    first.current = value;
    const shown = view.current;
    // What was told comes back late on a busy page, and more is written by then.
    const at = told.current.lastIndexOf(value);
    if (at >= 0) {
      told.current.splice(0, at + 1);
      return;
    }
    told.current = [];
    if (shown === undefined || shown.state.doc.toString() === value) return;
    shown.dispatch({
      changes: { from: 0, to: shown.state.doc.length, insert: value },
      annotations: fromElsewhere.of(true),
    });
  }, [value]);
  return <div ref={box} className={boxClass} />;
}

export function CodeDiff({
  label,
  before,
  after,
  language = 'text',
}: {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly language?: Language;
}) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current === null) return undefined;
    const made = new EditorView({
      parent: box.current,
      doc: after,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.editable.of(true),
        unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3 } }),
        common(label, language),
      ],
    });
    return () => made.destroy();
  }, [label, before, after, language]);
  return <div ref={box} className={boxClass} />;
}
