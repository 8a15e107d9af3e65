import { Card } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { ReplayForm } from './replay-form';
import type { Execution } from './turn-data';
import { useTurnInput } from './turn-input';

/** The same question to another model, or with another prompt, beside the answer of the turn. */
export function Replay({ execution }: { readonly execution: Execution }) {
  const query = useTurnInput(execution);
  return (
    <Card title="Compare with another model or prompt">
      <Loaded query={query}>{(input) => <ReplayForm execution={execution} input={input} />}</Loaded>
    </Card>
  );
}
