import type { Transaction } from '../database/attempt.ts';
import type { PostgresDatabase } from '../database/database.ts';
import type { Statement } from '../database/statement.ts';

/** Frees messages and keys of shared inboxes. The caller has locked the rows of the inboxes. */
export class ClaimRows {
  readonly #claims: Statement;
  readonly #keys: Statement;

  constructor(database: PostgresDatabase) {
    const isMeant =
      'inbox = ANY($1::text[]) AND incarnation IS NOT NULL AND ($2::bigint[] IS NULL OR incarnation = ANY($2))';
    this.#claims = database.statement(
      `UPDATE @claim SET incarnation = NULL, was_out = true WHERE ${isMeant}`,
    );
    this.#keys = database.statement(`DELETE FROM @key_member WHERE ${isMeant}`);
  }

  /** Frees the claims of these incarnations in inboxes, or those of all incarnations. */
  free(transaction: Transaction, inboxes: readonly string[], incarnations?: readonly number[]): void {
    const values = [inboxes, incarnations ?? null];
    transaction.write(this.#claims, values);
    transaction.write(this.#keys, values);
  }
}
