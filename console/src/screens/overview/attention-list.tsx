import { Link } from '@tanstack/react-router';
import { CircleCheck } from 'lucide-react';
import { Badge } from '../../ui/badge';
import { Card } from '../../ui/page';
import { Loaded } from '../../ui/states';
import { useAttention } from './attention';
import type { Attention } from './attention-item';

const words = { bad: 'Failed', warn: 'Waits', accent: 'Open', good: 'Fine', neutral: 'Note' } as const;

export function AttentionList() {
  const query = useAttention();
  return (
    <Card title="Needs attention">
      <Loaded query={query}>
        {(items) =>
          items.length === 0 ? (
            <p className="flex items-center gap-2 text-sm text-muted">
              <CircleCheck size={16} aria-hidden className="text-good" />
              Nothing waits for a person.
            </p>
          ) : (
            <ul className="-my-2 flex flex-col divide-y divide-line">
              {items.map((item) => (
                <Item key={item.id} item={item} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Item({ item: { tone, title, detail, path } }: { readonly item: Attention }) {
  const [to, query] = path.split('?');
  return (
    <li className="flex items-start gap-3 py-2 text-sm">
      <span className="w-14 shrink-0">
        <Badge tone={tone}>{words[tone]}</Badge>
      </span>
      <div className="min-w-0">
        <Link
          to={to}
          search={Object.fromEntries(new URLSearchParams(query)) as never}
          className="font-medium text-accent hover:underline"
        >
          {title}
        </Link>
        <p className="text-muted wrap-anywhere">{detail}</p>
      </div>
    </li>
  );
}
