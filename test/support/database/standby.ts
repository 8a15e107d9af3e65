import pg from 'pg';

/**
 * Makes a database answer as a standby would for a moment, or read-only as during a change of roles. Only what connects
 * afterwards sees it. Nothing else may be under way in the database: take one of its own.
 */
export class ChangingServer {
  readonly #owner: pg.Client;
  readonly #name: string;

  private constructor(owner: pg.Client, name: string) {
    this.#owner = owner;
    this.#name = name;
  }

  static async of({ name, url }: { readonly name: string; readonly url: string }): Promise<ChangingServer> {
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    // Functions of this name in the schema public come before PostgreSQL's own.
    await owner.query(`alter database ${name} set search_path = public, pg_catalog`);
    return new ChangingServer(owner, name);
  }

  async becomes(state: 'primary' | 'standby' | 'read-only'): Promise<void> {
    await this.#owner.query(
      state === 'standby'
        ? `create function public.pg_is_in_recovery() returns boolean language sql as 'select true'`
        : 'drop function if exists public.pg_is_in_recovery()',
    );
    await this.#owner.query(
      `alter database ${this.#name} ` +
        (state === 'read-only'
          ? 'set default_transaction_read_only = on'
          : 'reset default_transaction_read_only'),
    );
  }

  close(): Promise<void> {
    return this.#owner.end();
  }
}
