import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connectBroker, requestAddress } from '@signalbox/client';
import { makeSignInLink } from '@signalbox/client/operator';
import { dashboardOf } from '@signalbox/daemon/broker';
import { startTestBroker, type TestBroker, testAuthority } from '@signalbox/testing';
import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { builtPage } from '../support/dashboard/built-page.ts';

const { test, openPage } = browserTests();

const authority = await testAuthority();
const certificate = await authority.issue({ names: ['localhost', '127.0.0.1'] });

function servePage({ broker }: TestBroker): void {
  const options = { orchestrator: 'orchestrator', directory: builtPage(), log: () => {} };
  broker.servePages(dashboardOf(broker, options));
}

async function linkOf({ url, operatorToken }: TestBroker, ca?: string): Promise<string> {
  const agent = requestAddress('operator');
  await using operator = await connectBroker({
    ...{ url, token: await operatorToken(), agent },
    ...(ca !== undefined && { ca }),
  });
  return (await makeSignInLink(operator)).links[0]!;
}

/** Signs in by a link, and checks that the sign-in is one over TLS and that events arrive while they happen. */
async function useEncrypted(link: string, happen: () => Promise<unknown>): Promise<void> {
  await using opened = await openPage({ ignoreHTTPSErrors: true });
  const { page, problems } = opened;
  await page.goto(link);
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  expect(await page.context().cookies(`${new URL(link).origin}/api/sign-in`)).toMatchObject([
    { secure: true, httpOnly: true, sameSite: 'Strict', path: '/api' },
  ]);
  await happen();
  await page.getByText(/^[1-9]\d* events? a minute$/).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  // Commands come from the page too.
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You have signed out.').waitFor();
  expect(await page.context().cookies()).toEqual([]);
  expect(problems).toEqual([]);
}

async function sendNote({ url, token }: TestBroker, ca?: string): Promise<void> {
  await using ann = await connectBroker({
    ...{ url, token: await token('ann'), agent: 'ann' },
    ...(ca !== undefined && { ca }),
  });
  await ann.deliver({ to: 'operator', kind: 'note', body: 'hello' });
}

test('A broker with TLS serves the page over it, with a cookie that no plain connection carries.', async () => {
  await using broker = await startTestBroker({ tls: certificate });
  servePage(broker);
  const { ca } = authority;
  const link = await linkOf(broker, ca);
  expect(link).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/ui\/#code=/);
  await useEncrypted(link, () => sendNote(broker, ca));
});

test('Behind a proxy with TLS the page is served under the trusted origin: signing in, events and commands.', async () => {
  let port = 0;
  const proxy = createServer({ key: certificate.key, cert: certificate.cert }, (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    outgoing.on('close', () => onward.destroy());
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  await using _stop = {
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
  const origin = `https://localhost:${(proxy.address() as AddressInfo).port}`;
  await using broker = await startTestBroker({ trustedOrigins: [origin] });
  port = broker.port;
  servePage(broker);
  const link = await linkOf(broker);
  expect(link.startsWith(`${origin}/ui/#code=`)).toBe(true);
  await useEncrypted(link, () => sendNote(broker));
});
