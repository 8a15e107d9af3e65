import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Loaded } from '../../ui/states';
import { Time } from '../../ui/time';
import { succeeded } from '../../ui/toasts';
import { useConsumersChanged } from './use-consumer-events';

/** What agents remember of a person, and a way to make them forget it. */
export function MemoryFacts({ consumerKey }: { readonly consumerKey: string }) {
  const mayForget = useAllowed('consumers:delete');
  const changed = useConsumersChanged(consumerKey);
  const [asking, setAsking] = useState(false);
  const path = { key: consumerKey };
  const query = useQuery({
    queryKey: useKey('consumer memory', consumerKey),
    queryFn: ({ signal }) => take(api.GET('/api/v1/consumers/{key}/memory', { params: { path }, signal })),
  });
  return (
    <Loaded query={query}>
      {({ data }) =>
        data.facts.length === 0 ? (
          <p className="text-sm text-muted">Nothing.</p>
        ) : (
          <>
            <ul className="list-disc space-y-1 pl-4 text-sm wrap-anywhere">
              {data.facts.map((fact) => (
                <li key={fact}>{fact}</li>
              ))}
            </ul>
            <div className="mt-2 flex items-center justify-between gap-2 text-xs text-muted">
              <span>
                Changed <Time at={data.updated_at} />
              </span>
              {mayForget && <Button onClick={() => setAsking(true)}>Forget</Button>}
            </div>
            <Confirm
              open={asking}
              onClose={() => setAsking(false)}
              title="Forget what agents remember"
              verb="Forget"
              action={async () => {
                await take(api.DELETE('/api/v1/consumers/{key}/memory', { params: { path } }));
                succeeded('The memory was deleted');
                changed();
              }}
            >
              Agents begin anew with {consumerKey}. The messages stay.
            </Confirm>
          </>
        )
      }
    </Loaded>
  );
}
