import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { type BrokerAddress, messageOf } from '@signalbox/protocol';
import { figuresAccessPath, parseBrokerAddresses } from '@signalbox/protocol/internal';
import type { AccessRefusal } from '@signalbox/serving/monitoring';

/** An import statement would read every export of `node:http`, and some of them load all of `fetch`. */
const { request: requestHttp } = process.getBuiltinModule('node:http');

/** The broker's address or addresses, and the only authorities to trust for `wss://`. */
export interface BrokerPlace {
  url: string;
  ca?: string | undefined;
}

/** The time that a broker has to judge a token. */
const patienceMs = 5000;
/** The most questions to brokers at a time. */
const maxAsked = 8;

/** Returns a function that asks the broker whether a token may see figures. It resolves with the reason why not, and never rejects. */
export function scraperAccess({
  url,
  ca,
}: BrokerPlace): (bearer: string | undefined) => Promise<AccessRefusal | undefined> {
  const brokers = parseBrokerAddresses(url, { insecure: true });
  let asked = 0;
  return async (bearer) => {
    if (bearer === undefined) {
      const message = "send 'Authorization: Bearer' with the token of an observer or operator";
      return { status: 401, code: 'unauthorized', message };
    }
    if (asked >= maxAsked) return unknown('too many tokens are being checked');
    asked++;
    try {
      return await askBrokers(brokers, ca, bearer);
    } catch (error) {
      return unknown(`the broker, which knows the tokens, could not be asked: ${messageOf(error)}`);
    } finally {
      asked--;
    }
  };
}

function unknown(message: string): AccessRefusal {
  return { status: 503, code: 'access_unknown', message };
}

/** Asks the brokers in turn, until one answers. All of them know the same tokens. */
async function askBrokers(
  brokers: readonly BrokerAddress[],
  ca: string | undefined,
  bearer: string,
): Promise<AccessRefusal | undefined> {
  const problems: string[] = [];
  for (const broker of brokers) {
    try {
      return await askBroker(broker, ca, bearer);
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  throw new Error(problems.join('; '));
}

async function askBroker(
  broker: BrokerAddress,
  ca: string | undefined,
  bearer: string,
): Promise<AccessRefusal | undefined> {
  const response = await getAccess(broker, ca, bearer);
  const body = await text(response);
  const { statusCode: status } = response;
  if (status === 200) return undefined;
  if (status !== 401 && status !== 403) throw new Error(`it answered ${status}`);
  const { error } = JSON.parse(body) as { error: { code: string; message: string } };
  return { status, code: error.code, message: error.message };
}

function getAccess(
  { url, socketPath }: BrokerAddress,
  ca: string | undefined,
  bearer: string,
): Promise<IncomingMessage> {
  const { hostname, port, protocol } = new URL(socketPath === undefined ? url : 'ws://localhost');
  const options: RequestOptions & { ca?: string } = {
    ...(socketPath === undefined ? { host: hostname.replace(/^\[(.*)\]$/, '$1'), port } : { socketPath }),
    ...(ca !== undefined && { ca }),
    path: figuresAccessPath,
    headers: { authorization: `Bearer ${bearer}`, accept: 'application/json' },
    agent: false,
    signal: AbortSignal.timeout(patienceMs),
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = protocol === 'wss:' ? requestHttps(options, resolve) : requestHttp(options, resolve);
  request.on('error', reject).end();
  return promise;
}
