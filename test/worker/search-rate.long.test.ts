import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer } from '../support/mcp-host/test-servers.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { connectFace } from '../support/worker/mcp-client.ts';
import { type CatalogQuery, catalogQueries, catalogTools } from '../support/worker/tool-catalog/catalog.ts';

const prefix = 'mcp_hub__';

/** An agent's two views of a catalog of 500 tools, over a real broker, orchestrator and MCP server. */
async function catalogFleet() {
  await using opening = new AsyncDisposableStack();
  const directory = opening.use(await tempDir());
  const listFile = join(directory.path, 'list.json');
  await writeFile(listFile, JSON.stringify({ pages: [catalogTools()] }));
  const stack = opening.use(await startToolStack({ servers: { hub: nonstandardServer(listFile) } }));
  const executor = await stack.executor('w1');
  const all = opening.use(await connectFace(executor, { era: 'legacy', mailbox: false }));
  const searching = opening.use(
    await connectFace(executor, { era: 'legacy', toolList: 'search', mailbox: false }),
  );
  const opened = opening.move();
  return { all, searching, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

type Searching = Awaited<ReturnType<typeof connectFace>>;

/** Returns the number of queries that find a right tool among the first five, and the length of an average answer as text. */
async function rate({ call }: Searching, queries: readonly CatalogQuery[]) {
  let hits = 0;
  let characters = 0;
  for (const { query, right } of queries) {
    const { content, structuredContent } = await call('search_tools', { query });
    const { tools } = structuredContent as { tools: { name: string }[] };
    expect(tools.length).toBeLessThanOrEqual(5);
    if (tools.some(({ name }) => right.includes(name.slice(prefix.length)))) hits++;
    characters += (content as { text: string }[])[0]!.text.length;
  }
  return { hits, share: hits / queries.length, averageCharacters: characters / queries.length };
}

/** Returns the queries as the instructions ask for them: with the service that the agent has in mind. */
function withService(queries: readonly CatalogQuery[]): CatalogQuery[] {
  return queries.map(({ query, right }) => ({ query: `${right[0]!.split('_')[0]} ${query}`, right }));
}

test('most wishes find their tool among the first five of 500, for a twentieth of the characters of the list', async () => {
  await using stack = await catalogFleet();
  const plain = await rate(stack.searching, catalogQueries());
  const named = await rate(stack.searching, withService(catalogQueries()));
  const later = await rate(stack.searching, catalogQueries('later-queries'));
  expect(plain.share).toBeGreaterThanOrEqual(0.76);
  expect(named.share).toBeGreaterThanOrEqual(0.88);
  expect(later.share).toBeGreaterThanOrEqual(0.88);

  const everything = JSON.stringify(await stack.all.list()).length;
  const two = JSON.stringify(await stack.searching.list()).length;
  expect(everything).toBeGreaterThan(100_000);
  expect(two + plain.averageCharacters).toBeLessThan(everything / 20);
});
