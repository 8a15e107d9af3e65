import { Code } from '../../ui/json-view';
import { Loaded } from '../../ui/states';
import { type Execution, readableJson, type Step } from './turn-data';
import { type TurnInput, useTurnInput } from './turn-input';

interface Seen {
  readonly title: string;
  readonly text: string;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

interface AnswerPart {
  readonly type: string;
  readonly text?: string;
}

/** What the turn itself added before the step: answers of the model, and results of tools. */
function addedBefore(step: Step, steps: readonly Step[]): readonly Seen[] {
  return steps
    .filter(({ number, kind }) => number < step.number && kind !== 'intent')
    .map(({ kind, name, detail }) => {
      if (kind === 'tool')
        return { title: `Result of ${name}`, text: readableJson(detail?.['result'] ?? '') };
      const parts = (detail?.['parts'] ?? []) as readonly AnswerPart[];
      const said = parts.map((part) => (part.type === 'text' ? textOf(part.text) : readableJson(part)));
      return { title: 'Model', text: said.join('\n') };
    });
}

function seenBy(
  step: Step,
  { system, history, message }: TurnInput,
  steps: readonly Step[],
): readonly Seen[] {
  return [
    { title: 'System prompt', text: system },
    ...history.map(({ role, content }) => ({ title: role === 'user' ? 'Person' : 'Agent', text: content })),
    { title: 'Person', text: message },
    ...addedBefore(step, steps),
  ].filter(({ text }) => text !== '');
}

/** The messages that the model had before it, oldest first. */
export function SeenMessages({ step, execution }: { readonly step: Step; readonly execution: Execution }) {
  const query = useTurnInput(execution);
  return (
    <Loaded query={query}>
      {(input) => {
        const seen = seenBy(step, input, execution.steps);
        return (
          <details>
            <summary className="text-sm">{seen.length} messages</summary>
            <ol className="mt-2 flex flex-col gap-2">
              {seen.map(({ title, text }, index) => (
                <li key={index}>
                  <h4 className="mb-1 text-xs text-muted">{title}</h4>
                  <Code text={text} label={`message ${index + 1}`} />
                </li>
              ))}
            </ol>
            <p className="mt-2 text-xs text-muted">
              Put together from the conversation, the steps of the turn, and the prompt that the agent has
              now. Memory, definitions of tools and contents of attachments are not in it.
            </p>
          </details>
        );
      }}
    </Loaded>
  );
}
