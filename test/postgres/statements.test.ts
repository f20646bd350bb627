import { openPostgresDatabase } from '@signalbox/postgres/internal';
import { describe, expect, it } from 'vitest';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

async function openDatabase() {
  await using opened = new AsyncDisposableStack();
  const { url, schema } = opened.use(await testSchema());
  const database = opened.use(await openPostgresDatabase({ url, schema, broker: 'one' }));
  const resources = opened.move();
  return { database, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

describe.skipIf(serverUrl === undefined)('A statement', () => {
  it('gets arrays of each type as they are', async () => {
    await using opened = await openDatabase();
    const { database } = opened;
    const statement = database.statement(
      `SELECT $1::text[] AS texts, $2::bigint[]::text[] AS numbers, $3::int[] AS ints, $4::boolean[] AS booleans,
         ARRAY(SELECT convert_from(body, 'UTF8') FROM unnest($5::bytea[]) AS body) AS bodies, $6::text[] AS none`,
    );
    const texts = ['', 'a "b" \\ {c},', 'NULL', null, 'Ærø 🛰', "it's"];
    const numbers = [0, -1, 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, -(2 ** 53) + 1, null];
    const ints = [0, -1, 2 ** 31 - 1, -(2 ** 31), null];
    const bodies = ['{"n":1}', '🛰'];
    for (let time = 1; time <= 2; time++)
      expect(await database.read(statement, [texts, numbers, ints, [true, false, null], bodies, []])).toEqual(
        [
          {
            texts,
            numbers: numbers.map((one) => (one === null ? null : String(one))),
            ints,
            booleans: [true, false, null],
            bodies,
            none: [],
          },
        ],
      );
    await expect(database.read(statement, [[], [0.5], [], [], [], []])).rejects.toThrow(
      '0.5 is no whole number',
    );
  });

  it('behind one that failed is not run, and works in the next transaction', async () => {
    await using opened = await openDatabase();
    const { database } = opened;
    const divide = database.statement('SELECT 1 / $1::int AS one');
    const setMeta = database.statement('INSERT INTO @meta VALUES ($1, $2)');
    const run = (divisor: number) =>
      database.transaction(async (transaction) => {
        const rows = transaction.query(divide, [divisor]);
        transaction.write(setMeta, ['a', 'b']);
        return rows;
      });
    await expect(run(0)).rejects.toThrow('division by zero');
    expect(await database.read(database.unnamed(`SELECT 1 FROM @meta WHERE key = 'a'`))).toEqual([]);
    expect(await run(1)).toEqual([{ one: 1 }]);
    // The commit is skipped with the last statements, and the next transaction begins all the same.
    await expect(run(1)).rejects.toThrow('duplicate key');
    expect(await database.transaction((transaction) => transaction.query(divide, [1]))).toEqual([{ one: 1 }]);
  });
});
