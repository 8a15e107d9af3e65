import { z } from 'zod';

const aliasesMax = 100;

/** A name that callers use for a model; `auto` keeps its meaning. */
export const modelAlias = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:/@-]{0,99}$/, 'must be 1 to 100 letters, digits and . : / @ _ -')
  .refine((name) => name !== 'auto', 'must not be `auto`');

/** The models that a tenant's own names stand for. */
export const modelAliases = z
  .record(modelAlias, z.string().min(1).max(200))
  .refine((aliases) => Object.keys(aliases).length <= aliasesMax, `must have at most ${aliasesMax} names`);

export type ModelAliases = Readonly<z.output<typeof modelAliases>>;

/** The model that the tenant means by the name; a name without an alias stands for itself. */
export function modelMeantBy(
  { modelAliases: aliases }: { readonly modelAliases?: ModelAliases | undefined },
  name: string,
): string {
  return aliases !== undefined && Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name;
}
