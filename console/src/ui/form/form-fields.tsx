import { cx } from '../cx';
import { FieldControl } from './field-control';
import { type FieldSpecs, isShown, type Raws } from './fields';

/** The fields of a declaration, with values that the caller holds. `Form` holds them itself. */
export function FormFields({
  specs,
  raws,
  problem,
  onChange,
  onLeave,
}: {
  readonly specs: FieldSpecs;
  readonly raws: Raws;
  /** What is wrong with a field, by its name in requests. */
  readonly problem: (apiName: string) => string | undefined;
  readonly onChange: (name: string, raw: unknown) => void;
  readonly onLeave?: (name: string) => void;
}) {
  return (
    <div className="grid grid-cols-2 items-start gap-3">
      {Object.entries(specs)
        .filter(([, spec]) => isShown(spec, raws))
        .map(([name, spec]) => (
          <div key={name} className={cx('min-w-0', spec.half === true ? 'max-sm:col-span-2' : 'col-span-2')}>
            <FieldControl
              {...{ name, spec, raws }}
              problem={problem(spec.api ?? name)}
              onChange={(raw) => onChange(name, raw)}
              onLeave={() => onLeave?.(name)}
            />
          </div>
        ))}
    </div>
  );
}
