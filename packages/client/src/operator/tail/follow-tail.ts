import type { BrokerClient } from '@signalbox/client';
import { messageOf, parseTailNotice, SignalboxError } from '@signalbox/protocol';
import { queryCalls, requireOrchestrator } from '../orchestrator/calls.ts';
import { CallWatch } from './call-watch.ts';
import type { TailEvent } from './tail-event.ts';

/** The events that a tail reports, and the listener. */
export interface TailOptions {
  /** Reports only events of this agent; without it, those of all agents. */
  agent?: string;
  /** Agent id of the orchestrator whose tool calls are reported. */
  orchestrator: string;
  onEvent: (event: TailEvent) => void;
}

/** A tail that reports events until it is disposed. The broker sends them until the client is closed. */
export interface Tail extends Disposable {
  /** Resolves when no more events come: with the reason, or with `undefined` if the client's owner closed it. */
  readonly ended: Promise<SignalboxError | undefined>;
}

/**
 * Reports the events of messages and tool calls from now on, also after a reconnect. Resolves when the broker has accepted; rejects with
 * `forbidden` without the operator's permission.
 */
export async function followTail(client: BrokerClient, options: TailOptions): Promise<Tail> {
  const { agent, onEvent } = options;
  using starting = new DisposableStack();
  const calls = starting.use(watchCalls(client, options));
  starting.defer(
    client.onMessage(({ kind, from, json }) => {
      // Only the broker itself is trusted, by the identity that it attests.
      if (kind !== 'event' || from.agent !== 'broker' || from.role !== 'broker') return;
      const event = parseTailNotice(json);
      if (!event) return;
      onEvent(event);
      calls.observe(event);
    }),
  );
  const register = () => client.admin('tail', { on: true, agent });
  await register();
  const refused = Promise.withResolvers<SignalboxError>();
  starting.defer(
    client.onState(({ name }) => {
      if (name === 'reconnecting') onEvent({ what: 'disconnected', at: Date.now() });
      if (name !== 'ready') return;
      register().then(
        () => onEvent({ what: 'reconnected', at: Date.now() }),
        (error: unknown) => {
          // After another loss the next connection registers.
          if (codeOf(error) !== 'connection_lost') refused.resolve(errorFrom(error));
        },
      );
    }),
  );
  const resources = starting.move();
  return {
    ended: Promise.race([client.closed, refused.promise]),
    [Symbol.dispose]: () => resources.dispose(),
  };
}

/** Follows the calls of the orchestrator. If it cannot be asked, one event says so; messages are reported all the same. */
function watchCalls(client: BrokerClient, { orchestrator, onEvent }: TailOptions): CallWatch {
  let isThere = false;
  let isFailing = false;
  return new CallWatch({
    async ask(since) {
      // The list of all connections shows whether it is there, and is read only in case of doubt.
      if (!isThere) await requireOrchestrator(client, orchestrator);
      const calls = await queryCalls(client, orchestrator, { since });
      isThere = true;
      isFailing = false;
      return calls;
    },
    onChange: (call) => {
      onEvent({ what: 'call', at: call.finished_at ?? call.started_at ?? call.received_at, call });
    },
    onFailure: (error) => {
      isThere = false;
      if (isFailing) return;
      isFailing = true;
      onEvent({
        what: 'calls_missing',
        at: Date.now(),
        code: codeOf(error) ?? 'internal',
        message: messageOf(error),
      });
    },
  });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof SignalboxError ? error.code : undefined;
}

function errorFrom(error: unknown): SignalboxError {
  return error instanceof SignalboxError
    ? error
    : new SignalboxError('internal', messageOf(error), { cause: error });
}
