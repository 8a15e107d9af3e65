import { lazy, Suspense } from 'react';
import { Loading } from './states';

/** The editor's library is as large as the rest of the console, so it is loaded with the first editor. */
const Editor = lazy(() => import('./code-mirror').then(({ CodeMirror }) => ({ default: CodeMirror })));
const Diff = lazy(() => import('./code-mirror').then(({ CodeDiff }) => ({ default: CodeDiff })));

export type Language = 'json' | 'markdown' | 'text';

export interface CodeEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange?: (value: string) => void;
  readonly language?: Language;
  readonly readOnly?: boolean;
}

/** An editor for JSON, prompts and templates. JSON is checked while it is written. Escape, then Tab, leaves it. */
export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Loading label={props.label} />}>
      <Editor {...props} />
    </Suspense>
  );
}

/** Two texts and what differs between them. */
export function DiffView(props: {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  readonly language?: Language;
}) {
  return (
    <Suspense fallback={<Loading label={props.label} />}>
      <Diff {...props} />
    </Suspense>
  );
}
