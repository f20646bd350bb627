import { jsonLine, jsonProblem, readJson } from '@signalbox/protocol/json-lines';
import type { FaceLine, FaceRefusal } from '../shared-face/face-lines.ts';
import { isRepeatedId } from './call-key.ts';
import { FaceQuestions } from './face-questions.ts';
import { KeptCalls } from './kept-calls.ts';
import { ListedTools } from './listed-tools.ts';
import { messageHead } from './message-head.ts';
import { type EndReason, endedCall, endedRequest } from './outcomes.ts';
import { type PendingLimits, type PendingRequest, PendingRequests } from './pending-requests.ts';
import { ProgressNumbers } from './progress-numbers.ts';
import { isSetup, type ListKind, listKinds, RecordedSetup } from './recorded-setup.ts';

const defaultLimits: PendingLimits = { requests: 256, characters: 16 * 1024 * 1024 };
/** The longest wait of a request for a face: less than the 60 s after which clients commonly give up. */
const defaultWaitMs = 30_000;
/** The number of faces that may be lost with a request: beyond it, the request may be the cause. */
const maxLosses = 5;

/** The callbacks of a session. */
export interface SessionPorts {
  toClient(line: string): void;
  /** Takes a line for the present face. */
  toFace(line: string): void;
  /** Ends the connection to a face that cannot continue the session. */
  dropFace(reason: string): void;
  /** Writes a line for a person. */
  notice(text: string): void;
  /** Monotonic milliseconds. */
  now(): number;
}

export interface SessionOptions {
  /** The shim's own name, from which the ids of calls are made. */
  consumer: string;
  /** The longest wait of a request for a face; default 30 s. */
  waitMs?: number;
  limits?: PendingLimits;
}

/**
 * One MCP session of a client over any number of faces, one after the other. It takes lines and gives lines, and knows neither sockets nor
 * timers. Each request gets one answer: from a face, or from here when no face has come for a while.
 */
export class ShimSession {
  readonly #ports: SessionPorts;
  #consumer: string;
  readonly #waitMs: number;
  readonly #pending: PendingRequests;
  readonly #setup = new RecordedSetup();
  readonly #questions = new FaceQuestions();
  readonly #listed = new ListedTools();
  readonly #progress = new ProgressNumbers();
  #kept = new KeptCalls();
  /** The calls that the client cancelled while no face was there, as lines for the next one. */
  #withdrawnCalls: string[] = [];
  /** `greeted`: a face is there, and must be told about the session first. */
  #face: 'away' | 'greeted' | 'there' = 'away';
  #isBetweenTurns = false;
  /** The number of faces so far. */
  #faces = 0;
  #requests = 0;
  /** The epoch of the present face's lane, if it has one. */
  #epoch: string | undefined;

  constructor(
    { consumer, waitMs = defaultWaitMs, limits = defaultLimits }: SessionOptions,
    ports: SessionPorts,
  ) {
    this.#ports = ports;
    this.#consumer = consumer;
    this.#waitMs = waitMs;
    this.#pending = new PendingRequests(limits);
  }

  /** Takes a line of the client. */
  fromClient(line: string): void {
    const { id, method } = messageHead(line);
    if (method === undefined) {
      if (id === undefined) this.#pass(line);
      else this.#passAnswer(line);
    } else if (id === undefined) this.#takeNotification(method, line);
    else this.#takeRequest({ idText: JSON.stringify(id), method, line });
  }

  /** Takes a line of the face. Returns the reason why the face ends the connection, if the line says that. */
  fromFace(line: string): FaceRefusal | undefined {
    const { id, method } = messageHead(line);
    if (method === undefined) {
      if (id === undefined) return this.#takeOwnLine(line);
      if (isRepeatedId(id)) this.#takeOwnAnswer(line);
      else this.#takeAnswer(JSON.stringify(id), line);
    } else if (id === undefined) this.#showNotification(method, line);
    else this.#ports.toClient(withId(line, this.#questions.ask(this.#faces, id)));
    return undefined;
  }

  /** True if the process of this shim takes no turn now, and calls are refused. */
  get isBetweenTurns(): boolean {
    return this.#isBetweenTurns;
  }

  /** Continues with a face that has welcomed the session. */
  faceCame(): void {
    this.#faces++;
    this.#isBetweenTurns = false;
    if (this.#setup.hasHandshake) {
      this.#face = 'greeted';
      this.#ports.toFace(this.#setup.handshake());
    } else this.#resume();
  }

  /** Records that the connection to the face is lost. */
  faceLost(): void {
    if (this.#face === 'away') return;
    this.#face = 'away';
    this.#epoch = undefined;
    this.#progress.faceLost();
    for (const requestId of this.#questions.withdrawAll()) {
      const params = { requestId, reason: 'the MCP face that asked is gone' };
      this.#ports.toClient(jsonLine({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
    }
    const now = this.#ports.now();
    for (const request of this.#pending.list()) {
      if (request.sentTo === this.#faces) request.losses++;
      request.waitsSince ??= now;
      if (request.method === 'ping') this.#answerHere(request, pong(request.idText));
      else if (request.losses >= maxLosses && !isSubscription(request)) this.#end(request, 'face_away');
    }
  }

  /**
   * Records that the turn of this shim's process has ended while no face is there. Its calls end with it, and none is made before the next
   * turn, in which the shim has another name.
   */
  turnEnded(consumer: string): void {
    this.#isBetweenTurns = true;
    this.#kept = new KeptCalls();
    this.#withdrawnCalls = [];
    for (const request of this.#pending.list())
      if (request.method === 'tools/call') this.#end(request, 'no_turn');
    this.#consumer = consumer;
  }

  /** Ends the requests that have waited too long for a face. Returns the time until the next one, in milliseconds. */
  expire(): number | undefined {
    const now = this.#ports.now();
    let next: number | undefined;
    for (const request of this.#pending.list()) {
      if (request.waitsSince === undefined || isSubscription(request)) continue;
      const left = request.waitsSince + this.#waitMs - now;
      if (left <= 0) this.#end(request, 'face_away');
      else next = Math.min(next ?? left, left);
    }
    return next;
  }

  /**
   * Cancels the running calls and answers them, because the process has been asked to end. Without a face nothing can be cancelled, and the
   * answers say so.
   */
  stop(): void {
    for (const request of this.#pending.list()) {
      if (request.method !== 'tools/call') continue;
      if (this.#face !== 'there') {
        this.#end(request, 'face_away');
        continue;
      }
      const params = { requestId: JSON.parse(request.idText), reason: 'the MCP server is ending' };
      this.#pass(jsonLine({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
      this.#end(request, 'stopping');
    }
  }

  #takeRequest(head: Pick<PendingRequest, 'idText' | 'method' | 'line'>): void {
    const { idText, method, line } = head;
    if (this.#pending.find(idText)) {
      this.#ports.notice(
        `the client used the id ${idText} again before its answer; this request is left out`,
      );
      return;
    }
    const request: PendingRequest = {
      ...head,
      n: ++this.#requests,
      epoch: undefined,
      sentTo: 0,
      losses: 0,
      waitsSince: undefined,
      isAcknowledged: false,
    };
    const isThere = this.#face === 'there';
    const excess = this.#pending.excess(line.length);
    if (method === 'ping' && !isThere) this.#ports.toClient(pong(idText));
    else if (excess !== undefined) this.#end(request, excess);
    else if (this.#isBetweenTurns && method === 'tools/call') this.#end(request, 'no_turn');
    else {
      this.#pending.add(request);
      if (isThere) this.#send(request);
      else request.waitsSince = this.#ports.now();
    }
  }

  #takeNotification(method: string, line: string): void {
    if (method === 'notifications/initialized') this.#setup.initialized(line);
    else if (method === 'notifications/cancelled') {
      const cancelled = this.#pending.find(idTextOf(line, 'requestId'));
      if (cancelled) this.#forget(cancelled);
      if (cancelled && this.#face !== 'there') this.#withdrawLater(cancelled);
    }
    this.#pass(line);
  }

  /** Makes the next face withdraw a call, if the call may run. */
  #withdrawLater({ n, method, sentTo, line }: PendingRequest): void {
    if (method === 'tools/call' && sentTo > 0) this.#withdrawnCalls.push(`-${n} ${line}`);
  }

  #pass(line: string): void {
    if (this.#face === 'there') this.#ports.toFace(`0 ${line}`);
  }

  /** Passes on the client's answer to a question, unless its face has gone. */
  #passAnswer(line: string): void {
    const message = readHere(line);
    const idText = this.#questions.answer(message?.id);
    if (idText !== undefined) this.#pass(jsonLine({ ...message, id: JSON.parse(idText) }));
  }

  /** Takes a line that is no MCP message. */
  #takeOwnLine(line: string): FaceRefusal | undefined {
    if (!ownLine.test(line)) return undefined;
    const said = readHere(line) as FaceLine | undefined;
    if (!said) return undefined;
    if ('ended' in said) return said.ended;
    if ('epoch' in said) this.#epoch = said.epoch ?? undefined;
    if ('dropped' in said) this.#kept.drop(said.dropped);
    if ('kept' in said) {
      const call = this.#pending.list().find(({ n }) => n === said.kept);
      if (call) this.#kept.keep(call.n, call.line);
    }
    return undefined;
  }

  #takeAnswer(idText: string, line: string): void {
    const request = this.#pending.find(idText);
    // A request that ended here, or that was cancelled, already has its end.
    if (!request) return;
    const { method, n } = request;
    if (isSetup(method)) this.#takeSetup(method, { n, line: request.line }, readHere(line)?.result);
    // A face that ends in order also ends its subscriptions. The next one takes them over.
    if (isSubscription(request) && readHere(line)?.result !== undefined) return;
    if (method === 'tools/list')
      this.#listed.listed(line, { isFirstPage: !request.line.includes('"cursor"') });
    this.#answerHere(request, line);
  }

  #takeSetup(method: string, request: Pick<PendingRequest, 'n' | 'line'>, result: unknown): void {
    if (result === undefined) return;
    this.#setup.accepted(method, request);
    if (method === 'initialize') this.#setup.declared((result as Message).capabilities);
  }

  /** Takes the answer to a repeated request; the answer to the handshake is the sign to continue. */
  #takeOwnAnswer(line: string): void {
    if (this.#face !== 'greeted') return;
    if (readHere(line)?.result === undefined) {
      this.#ports.dropFace('it did not accept the handshake of this session');
      return;
    }
    for (const one of this.#setup.rest()) this.#ports.toFace(one);
    this.#resume();
    if (!this.#setup.isInitialized) return;
    for (const kind of this.#setup.listKinds) this.#ports.toClient(jsonLine(listChanged(kind)));
  }

  #showNotification(method: string, line: string): void {
    if (method === 'notifications/subscriptions/acknowledged') {
      this.#acknowledged(line);
      return;
    }
    let shown: string | undefined = line;
    if (method === 'notifications/progress') shown = this.#progress.shown(line);
    else if (method === 'notifications/cancelled') shown = this.#withdrawn(line);
    if (shown !== undefined) this.#ports.toClient(shown);
  }

  #withdrawn(line: string): string | undefined {
    const message = readHere(line);
    const params = message?.params as Record<string, unknown> | undefined;
    const requestId = this.#questions.withdraw(this.#faces, params?.requestId);
    return requestId === undefined ? undefined : jsonLine({ ...message, params: { ...params, requestId } });
  }

  /** Shows the acknowledgement of a new subscription. One that was taken over may have missed changes. */
  #acknowledged(line: string): void {
    const { params } = (readHere(line) ?? {}) as Acknowledgement;
    const id = params?._meta?.[subscriptionIdKey];
    const request = this.#pending.find(JSON.stringify(id) ?? '');
    if (!request?.isAcknowledged) {
      if (request) request.isAcknowledged = true;
      this.#ports.toClient(line);
      return;
    }
    for (const kind of listKinds) {
      if (params?.notifications?.[`${kind}ListChanged`] !== true) continue;
      this.#ports.toClient(jsonLine(listChanged(kind, { _meta: { [subscriptionIdKey]: id } })));
    }
  }

  /** Sends the facts that a new face needs, and then the requests without an answer, in the order in which they came. */
  #resume(): void {
    this.#face = 'there';
    for (const line of [...this.#withdrawnCalls, ...this.#kept.repeated()]) this.#ports.toFace(line);
    this.#withdrawnCalls = [];
    for (const request of this.#pending.list()) this.#send(request);
  }

  #send(request: PendingRequest): void {
    const { n, sentTo, line } = request;
    const isFirst = sentTo === 0;
    if (isFirst) request.epoch = this.#epoch;
    request.sentTo = this.#faces;
    request.waitsSince = undefined;
    const epoch = request.epoch === undefined ? '' : `@${request.epoch}`;
    this.#ports.toFace(`${n}${isFirst ? '+' : ''}${epoch} ${line}`);
  }

  #end(request: PendingRequest, reason: EndReason): void {
    const { idText, method, line } = request;
    if (method === 'tools/call') {
      const { name } = (readHere(line)?.params ?? {}) as { name?: unknown };
      const tool = typeof name === 'string' ? name : 'the tool';
      const hasOutputSchema = this.#listed.mayHaveOutputSchema(tool);
      const call = { consumer: this.#consumer, tool, hasOutputSchema };
      this.#answerHere(request, endedCall(request, reason, call));
    } else this.#answerHere(request, endedRequest(idText, reason));
  }

  #answerHere(request: PendingRequest, answer: string): void {
    this.#forget(request);
    this.#ports.toClient(answer);
  }

  #forget(request: PendingRequest): void {
    this.#pending.delete(request);
    if (this.#pending.isEmpty) this.#progress.clear();
  }
}

const ownLine = /^\{"(?:ended|kept|dropped|epoch)"/;
const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId';

interface Acknowledgement {
  params?: {
    notifications?: Partial<Record<`${ListKind}ListChanged`, unknown>>;
    _meta?: Record<string, unknown>;
  };
}

type Message = Record<string, unknown>;

/** Returns true for a subscription of the revision 2026-07-28: it has no answer as long as it lasts. */
function isSubscription({ method }: PendingRequest): boolean {
  return method === 'subscriptions/listen';
}

function listChanged(kind: ListKind, params?: object): Message {
  return { jsonrpc: '2.0', method: `notifications/${kind}/list_changed`, ...(params && { params }) };
}

function pong(idText: string): string {
  return `{"jsonrpc":"2.0","id":${idText},"result":{}}`;
}

/** Parses a message that is needed here, if it is within the bounds that hold for every message. */
function readHere(line: string): Message | undefined {
  if (jsonProblem(line) !== undefined) return undefined;
  try {
    return readJson(line) as Message;
  } catch {
    return undefined;
  }
}

function idTextOf(line: string, field: string): string {
  const params = readHere(line)?.params as Message | undefined;
  return JSON.stringify(params?.[field]) ?? '';
}

function withId(line: string, id: string): string {
  return jsonLine({ ...(readJson(line) as Message), id });
}
