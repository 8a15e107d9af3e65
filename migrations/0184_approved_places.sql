-- A password goes with a scheme, a host and a port; approved_for names the host alone. Both must fit for a row whose place
-- is kept. Null: approved while only hosts were named, or not approved but allowed by the secret's list. Processes of before
-- write approved_for alone and leave this as it is: what they move is then not read until somebody saves it again.
alter table database_configs add column approved_place text;
