import { type Model, useModels } from '../api/models';
import { Field, inputClass } from './field';
import { count, dollars } from './numbers';

function shortPriceOf({ price }: Model): string {
  const [input, output] = [price.input_per_mtok, price.output_per_mtok];
  return input === 0 && output === 0 ? '(free)' : `(${dollars(input)} / ${dollars(output)})`;
}

/** The choice of a model with its prices. Models that cannot be called now are at the end. */
export function ModelField({
  label = 'Model',
  value,
  onChange,
  problem,
}: {
  readonly label?: string;
  readonly value: string;
  readonly onChange: (model: string) => void;
  readonly problem?: string | undefined;
}) {
  const models = useModels();
  const chosen = models?.find(({ id }) => id === value);
  const isListed = value === 'auto' || chosen !== undefined;
  return (
    <Field
      label={label}
      hint={
        value === 'auto' ? 'The platform chooses a model for each question and says why.' : hintOf(chosen)
      }
      problem={problem}
    >
      {(attributes) => (
        <select
          {...attributes}
          className={inputClass}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        >
          <option value="auto">auto: the platform chooses</option>
          {!isListed && <option value={value}>{value}</option>}
          {vendorsOf(models ?? []).map(([vendor, ofVendor]) => (
            <optgroup key={vendor} label={vendor}>
              {ofVendor.map((model) => (
                <option key={model.id} value={model.id} disabled={!model.available && model.id !== value}>
                  {model.id} {shortPriceOf(model)}
                  {model.available ? '' : ', not available'}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      )}
    </Field>
  );
}

function hintOf(model: Model | undefined): string | undefined {
  if (model === undefined)
    return 'This model is not in the list of the tenant: a name of your own, or unknown.';
  return `${model.tier} · ${priceOf(model)} · ${count(model.context_window)} tokens of context`;
}

function vendorsOf(models: readonly Model[]): readonly (readonly [string, readonly Model[]])[] {
  const vendors = [...new Set(models.map(({ vendor }) => vendor))];
  const available = (model: Model): number => (model.available ? 0 : 1);
  return vendors
    .map(
      (vendor) =>
        [
          vendor,
          models.filter((one) => one.vendor === vendor).toSorted((a, b) => available(a) - available(b)),
        ] as const,
    )
    .toSorted(([, [a]], [, [b]]) => (a === undefined || b === undefined ? 0 : available(a) - available(b)));
}

const priceOf = ({ price }: Model): string =>
  `${dollars(price.input_per_mtok)} in · ${dollars(price.output_per_mtok)} out per million tokens`;
