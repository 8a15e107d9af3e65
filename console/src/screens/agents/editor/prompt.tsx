import { CodeEditor } from '../../../ui/code-editor';
import { problemOf } from '../../../ui/field';
import { count } from '../../../ui/numbers';
import type { PartProps } from './draft';

export function Prompt({ state: { draft, change, changeModel }, error }: PartProps) {
  const prompt = draft.llm_config.system_prompt ?? '';
  const problem = problemOf(error, 'llm_config.system_prompt');
  return (
    <div className="flex flex-col gap-1.5">
      <div className="[&_.cm-editor]:max-h-[60vh] [&_.cm-editor]:min-h-72">
        <CodeEditor
          label="System prompt"
          language="markdown"
          value={prompt}
          readOnly={change === undefined}
          onChange={(text) => changeModel({ system_prompt: text === '' ? undefined : text })}
        />
      </div>
      {problem !== undefined && (
        <p role="alert" className="text-xs text-bad">
          {problem}
        </p>
      )}
      <p className="text-xs text-muted">
        {count(prompt.length)} of {count(100_000)} characters, about {count(Math.ceil(prompt.length / 4))}{' '}
        tokens in every question. Context of the caller, memory and tools are added by the platform.
      </p>
    </div>
  );
}
