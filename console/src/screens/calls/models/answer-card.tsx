import type { Model } from '../../../api/models';
import { StatusBadge } from '../../../ui/badge';
import { Markdown } from '../../../ui/markdown';
import { count, dollars } from '../../../ui/numbers';
import { Facts } from '../../../ui/page';
import { duration } from '../../../ui/time';
import type { Answer } from './use-trial';

/** By the list of prices; a part of the input that the vendor's cache held costs less. */
function costOf({ usage }: Answer, price: Model['price'] | undefined): number | undefined {
  if (usage === undefined || price === undefined) return undefined;
  return (
    (usage.input_tokens * price.input_per_mtok + usage.output_tokens * price.output_per_mtok) / 1_000_000
  );
}

const unknown = '–';

/** What one model answered, and what it took. */
export function AnswerCard({
  number,
  answer,
  price,
}: {
  readonly number: number;
  readonly answer: Answer;
  readonly price: Model['price'] | undefined;
}) {
  const { model, text, state, usage, firstMs, tookMs, problem } = answer;
  const cost = costOf(answer, price);
  return (
    <section
      aria-label={`Answer ${number} of ${model}`}
      className="min-w-0 rounded-lg border border-line bg-surface"
    >
      <div className="flex items-center justify-between gap-2 border-b border-line px-4 py-2.5">
        <h2 className="min-w-0 text-sm wrap-anywhere">{model}</h2>
        <StatusBadge status={state} />
      </div>
      <div className="flex flex-col gap-3 p-4">
        <Facts
          facts={[
            ['First word', firstMs === undefined ? unknown : duration(firstMs)],
            ['Took', tookMs === undefined ? unknown : duration(tookMs)],
            [
              'Tokens',
              usage === undefined
                ? unknown
                : `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out`,
            ],
            ['Cost', cost === undefined ? unknown : dollars(cost)],
          ]}
        />
        {problem !== undefined && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad wrap-anywhere">
            {problem}
          </p>
        )}
        <div
          className="max-h-96 overflow-y-auto text-sm"
          tabIndex={0}
          role="region"
          aria-label={`Text ${number} of ${model}`}
        >
          {/* Markdown is read once the text is whole. */}
          {state === 'running' ? (
            <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>
          ) : text === '' ? (
            <span className="text-muted">No answer.</span>
          ) : (
            <Markdown text={text} />
          )}
        </div>
      </div>
    </section>
  );
}
