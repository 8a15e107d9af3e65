import { Badge, type Tone } from '../ui/badge';

const tones: Readonly<Record<string, Tone>> = {
  GET: 'neutral',
  POST: 'accent',
  PUT: 'warn',
  PATCH: 'warn',
  DELETE: 'bad',
};

export function MethodBadge({ method }: { readonly method: string }) {
  return (
    <span className="inline-flex w-14 shrink-0 font-mono">
      <Badge tone={tones[method] ?? 'neutral'}>{method}</Badge>
    </span>
  );
}
