import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { serveHttpFace } from '@signalbox/worker';
import { expect, test } from 'vitest';
import { startAuthorizingProxy } from '../support/conformance/authorizing-proxy.ts';
import { startFixture } from '../support/conformance/fixture-server.ts';
import { runSuite } from '../support/conformance/suite.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

/** The fixture behind broker, orchestrator, host and HTTP face, its tools under their own names. */
async function startProxied(fixtureUrl: string) {
  await using starting = new AsyncDisposableStack();
  const stack = starting.use(
    await startToolStack({ servers: { fixture: { type: 'http', url: fixtureUrl, prefix: false } } }),
  );
  const face = starting.use(
    await serveHttpFace({
      listen: { host: '127.0.0.1', port: 0 },
      connect: { url: stack.broker.url },
      version: '1.0.0',
      unreadHint: 'meta',
    }),
  );
  const token = await stack.broker.token('agent', 'worker');
  const { url } = starting.use(await startAuthorizingProxy(face.port, token));
  const started = starting.move();
  return { url, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** The face offers no logging, which MCP has deprecated. */
const notRelayed = /^(logging-set-level|tools-call-with-logging):/;

test.each(['2025-11-25', '2026-07-28'])(
  'What passes the official suite for %s directly passes it through the HTTP face.',
  async (revision) => {
    await using directory = await tempDir();
    await using bare = await startFixture();
    await using hosted = await startFixture();
    await using proxied = await startProxied(hosted.url);
    const own = async (name: string) => {
      const path = join(directory.path, name);
      await mkdir(path);
      return path;
    };
    const [direct, relayed] = await Promise.all([
      runSuite(bare.url, revision, { directory: await own('direct') }),
      runSuite(proxied.url, revision, {
        directory: await own('proxied'),
        expected: `./expected-${revision}.yml`,
      }),
    ]);
    // The suite itself refuses a failure that is not expected, and an expected one that has gone.
    expect(relayed.code, relayed.output).toBe(0);
    const passed = [...direct.checks].flatMap(([check, verdict]) => (verdict === 'passed' ? [check] : []));
    expect(passed.length).toBeGreaterThan(40);
    const lost = passed.filter((check) => (relayed.checks.get(check) ?? 'failed') === 'failed');
    expect(lost.filter((check) => !notRelayed.test(check))).toEqual([]);
  },
);
