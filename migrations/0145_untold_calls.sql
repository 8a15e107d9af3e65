-- Attempts after which their call may not have been told of: all but those that answered at the first attempt, which are
-- closed and told of in one statement. Few, and only once they are closed.
create index usage_rows_maybe_untold on usage_rows (deadline_at)
  where outcome is not null and (outcome <> 'completed' or attempt_number > 1);
