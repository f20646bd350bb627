import { readFile } from 'node:fs/promises';
import type { BrokerOptions } from '@signalbox/broker';
import { connectBroker, requestAddress } from '@signalbox/client';
import { issueToken, makeSignInLink } from '@signalbox/client/operator';
import { agentOfToken } from '@signalbox/protocol';
import { type Child, startChild } from '@signalbox/testing';

/** The settings with which the process of a {@link PageBroker} is started. */
export interface BrokerSetup {
  dataDir: string;
  hasPage: boolean;
  limits?: NonNullable<BrokerOptions['limits']>;
}

/** An order to the process: to issue tokens, or to report what it uses. */
export type BrokerOrder = { what: 'tokens'; of: { agent: string; role: string }[] } | { what: 'figures' };

/** The resources that a broker has used so far, and the longest time that its event loop was held up since the last question. */
export interface BrokerFigures {
  cpuMicros: number;
  heldUpMs: number;
  /** The resident set in bytes. */
  rss: number;
}

/** A broker in a process of its own, with or without the dashboard. */
export interface PageBroker extends AsyncDisposable {
  readonly url: string;
  /** The origin of the page. */
  readonly origin: string;
  readonly pid: number;
  operatorToken(): Promise<string>;
  tokens(of: { agent: string; role: string }[]): Promise<string[]>;
  figures(): Promise<BrokerFigures>;
  /** Issues the token of another person with the rights of an operator. */
  person(name: string): Promise<string>;
  /** Returns a link that signs in the holder of a token; by default the first operator. */
  link(token?: string): Promise<string>;
}

/** Starts a broker on a data directory. */
export async function startPageBroker(setup: BrokerSetup): Promise<PageBroker> {
  const waiting: ((answer: unknown) => void)[] = [];
  const child: Child<{ url: string; port: number; operatorTokenFile: string }> = await startChild(
    new URL('./page-broker-main.ts', import.meta.url),
    {
      args: [JSON.stringify(setup)],
      onMessage: (message) => waiting.shift()?.((message as { answer: unknown }).answer),
    },
  );
  const { url, port, operatorTokenFile } = child.ready;
  const obey = (order: BrokerOrder): Promise<unknown> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      child.send(order);
    });
  const operatorToken = async (): Promise<string> => (await readFile(operatorTokenFile, 'utf8')).trim();
  const connect = (token: string) =>
    connectBroker({ url, token, agent: requestAddress(agentOfToken(token) ?? 'operator') });
  return {
    url,
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid,
    operatorToken,
    tokens: async (of) => (await obey({ what: 'tokens', of })) as string[],
    figures: async () => (await obey({ what: 'figures' })) as BrokerFigures,
    async person(name) {
      await using operator = await connect(await operatorToken());
      return (await issueToken(operator, { agent: `operator.${name}`, role: 'operator' })).token;
    },
    async link(token) {
      await using person = await connect(token ?? (await operatorToken()));
      return (await makeSignInLink(person)).links[0]!;
    },
    [Symbol.asyncDispose]: async () => {
      await child.end('SIGTERM');
    },
  };
}
