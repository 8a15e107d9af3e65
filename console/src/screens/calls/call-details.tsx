import { Dialog } from '../../ui/dialog';
import { Code } from '../../ui/json-view';
import { count, dollars } from '../../ui/numbers';
import { Facts } from '../../ui/page';
import { duration, Time } from '../../ui/time';
import type { Call } from './calls';

/** One call as the log keeps it: figures, and what was said as far as it is kept. */
export function CallDetails({ call, onClose }: { readonly call: Call; readonly onClose: () => void }) {
  const { metadata } = call;
  return (
    <Dialog open onClose={onClose} title={call.model} wide>
      <div className="flex flex-col gap-4">
        <Facts
          facts={[
            ['When', <Time key="when" at={call.timestamp} exactly />],
            ['Vendor', call.provider],
            ['Source', call.call_source],
            ['Agent', call.agent_id ?? '—'],
            ['Took', duration(call.response_time_ms)],
            ['Input tokens', count(call.input_tokens)],
            ['Output tokens', count(call.output_tokens)],
            ['From the cache', count(call.cached_tokens)],
            ['Written to the cache', count(call.cache_creation_tokens)],
            ['Cost', dollars(call.cost)],
            ['Id', <code key="id">{call.id}</code>],
          ]}
        />
        <Said title="Input" text={metadata.input_preview} />
        <Said title="Output" text={metadata.output_preview} />
      </div>
    </Dialog>
  );
}

function Said({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <section aria-label={title}>
      <h3 className="mb-1 text-sm font-semibold">{title}</h3>
      {text === '' ? (
        <p className="text-sm text-muted">Nothing is kept of it.</p>
      ) : (
        <Code text={text} label={`${title.toLowerCase()} of the call`} />
      )}
    </section>
  );
}
