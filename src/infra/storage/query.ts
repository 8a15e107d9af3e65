import { createSqlTag } from 'slonik';
import { z } from 'zod';

/** Builds queries: sql.type(schema)`select …`, sql.typeAlias('nothing')`update …`, sql.fragment`…`. */
export const sql = createSqlTag({
  typeAliases: {
    /** For statements that return no rows. */
    nothing: z.object({}).strict(),
    id: z.object({ id: z.uuid() }),
    count: z.object({ count: z.number() }),
  },
});
