import { useMutation } from '@tanstack/react-query';
import { CircleCheck } from 'lucide-react';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { ApiError } from '../../api/errors';
import { Button, type ButtonProps } from '../button';
import { useDialogHold } from '../dialog-hold';
import { FormProblem } from '../field';
import { useDraft } from './draft';
import { type FieldSpecs, isShown, problemIn, rawOf, type Raws, type ValuesOf, valuesOf } from './fields';
import { FormFields } from './form-fields';
import { rebased } from './rebased';

export interface FormProps<Specs extends FieldSpecs, Answer> {
  readonly fields: Specs;
  /** Values to begin with, such as those that hold now. When they change, the form shows the new ones, but for what is being written. */
  readonly initial?: { readonly [Name in keyof Specs]?: unknown };
  readonly submit: (values: ValuesOf<Specs>) => Promise<Answer>;
  /** What the button says. */
  readonly verb: string;
  readonly kind?: ButtonProps['kind'];
  /** Said beside the button once it is done, until something is written again. */
  readonly done?: string | ((answer: Answer) => string);
  /** Whether the person is asked before what is written is lost. Not where it is nothing but a confirmation or a sign-in. */
  readonly asks?: boolean;
  /** Empties the form once it is done. */
  readonly clears?: boolean;
  /** Below the fields. */
  readonly children?: ReactNode;
  /** Beside the button. */
  readonly actions?: ReactNode;
}

/**
 * A form from one declaration of its fields. What the browser can check is said at the field, when it is left or the form
 * is submitted; what the server refuses is said at the field that it names, and else above the button.
 */
export function Form<const Specs extends FieldSpecs, Answer>({
  fields,
  initial = {},
  submit,
  verb,
  kind = 'primary',
  done,
  asks = true,
  clears = false,
  children,
  actions,
}: FormProps<Specs, Answer>) {
  const beginning = (values: typeof initial): Raws =>
    Object.fromEntries(Object.entries(fields).map(([name, spec]) => [name, rawOf(spec, values[name])]));
  const attempt = useMutation({ mutationFn: submit });
  // What is being sent is not lost, and the answer may lead to another page.
  const { written, change, settle } = useDraft(beginning(initial), {
    asks: asks && !attempt.isPending,
  });
  const raws = written.draft;
  const [sent, setSent] = useState<Raws>();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  useDialogHold(attempt.isPending);
  const box = useRef<HTMLFormElement>(null);
  const shown = Object.entries(fields).filter(([, spec]) => isShown(spec, raws));
  const { error } = attempt;
  const refused = fieldNamed(
    error,
    shown.map(([name, { api }]) => api ?? name),
  );
  const problem = (apiName: string): string | undefined => {
    const [name = '', spec] = shown.find(([one, { api }]) => (api ?? one) === apiName) ?? [];
    const own = spec !== undefined && left.has(name) ? problemIn(spec, raws[name]) : undefined;
    // What the server refused is written over: it may be right now.
    const stands = refused?.name === apiName && sent?.[name] === raws[name];
    return own ?? (stands ? refused.issue : undefined);
  };
  useEffect(() => {
    if (sent === undefined && error === null) return;
    box.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [sent, error]);
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    setLeft(new Set(Object.keys(fields)));
    setSent({ ...raws });
    if (attempt.isPending || shown.some(([name, spec]) => problemIn(spec, raws[name]) !== undefined)) return;
    attempt.mutate(valuesOf(fields, raws), {
      onSuccess: () => {
        setLeft(new Set());
        if (clears) change((present) => rebased(present, raws, beginning(initial)));
        else settle(written, raws);
      },
    });
  };
  return (
    <form ref={box} noValidate className="flex flex-col gap-3" onSubmit={onSubmit}>
      <FormFields
        specs={fields}
        raws={raws}
        problem={problem}
        onChange={(name, raw) => {
          if (attempt.isSuccess) attempt.reset();
          change((present) => ({ ...present, [name]: raw }));
        }}
        onLeave={(name) => {
          // An empty field that was only passed is not wrong yet.
          if (raws[name] !== '') setLeft((present) => new Set(present).add(name));
        }}
      />
      {children}
      {refused === undefined && <FormProblem error={error} />}
      <div className="flex flex-wrap items-center gap-3">
        <Button kind={kind} type="submit" busy={attempt.isPending}>
          {verb}
        </Button>
        <fieldset disabled={attempt.isPending} className="contents">
          {actions}
        </fieldset>
        <span role="status" className="flex items-center gap-1.5 text-sm text-good">
          {done !== undefined && attempt.isSuccess && (
            <>
              <CircleCheck size={16} aria-hidden /> {typeof done === 'string' ? done : done(attempt.data)}
            </>
          )}
        </span>
      </div>
    </form>
  );
}

/** The field of the form that a refusal names: itself, or a part of its value such as `allowed_ips.0`. */
export function fieldNamed(
  error: unknown,
  names: readonly string[],
): { readonly name: string; readonly issue: string } | undefined {
  const field = error instanceof ApiError ? error.field : undefined;
  if (field === undefined) return undefined;
  const name = names.find((one) => field.name === one || field.name.startsWith(`${one}.`));
  return name === undefined ? undefined : { name, issue: field.issue };
}
