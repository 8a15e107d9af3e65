-- Fewer checks on the tables that each model call writes (src/models/usage). PostgreSQL parses the text of each check of a
-- table anew for each statement that writes to it: the 25 checks took a tenth of the time of a batch, and two fifths of
-- that of an opening. The amounts stay checked, in one expression; names, numbers and estimates come from types of the
-- program. A row of `calls` copies figures of `usage_rows`, or those that the program sums.
--
-- weaker: usage_rows_amounts
-- Nodes of version 0.1 write rows that meet each check which this file drops, and the one that it adds asks for a part of
-- them. `not valid`: nobody waits until PostgreSQL has read the rows of before, which met them too.
do $$
declare
  found record;
begin
  for found in
    select conrelid::regclass as place, conname from pg_constraint
    where contype = 'c' and conrelid in ('usage_rows'::regclass, 'calls'::regclass) and coninhcount = 0
  loop
    execute format('alter table %s drop constraint %I', found.place, found.conname);
  end loop;
end $$;

alter table usage_rows add constraint usage_rows_amounts check (
  least(input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens) >= 0 and cost >= 0
) not valid;
