import { timingSafeEqual } from 'node:crypto';
import { isAgentId, isPermitted, matchesPattern, operationPermissions, tokenText } from '@signalbox/protocol';
import {
  type AuditEvent,
  hasExpired,
  type TokenChanges,
  type TokenRecord,
  type TokenStore,
} from '@signalbox/store';
import type { ExpiryClock } from '../core/time/expiry-clock.ts';
import { providerTokenPrefix } from './identity-provider.ts';
import { expiryOf, permissionsOf, type TokenRequest } from './token-rules.ts';
import { hashToken, newSecret } from './token-secret.ts';

/** The most tokens of the identity provider that are known at a time, of one agent and of all. */
const mostOfProvider = { agent: 64, all: 16_384 };

/** The permissions of callers who are never held, since they may decide on calls or end a hold. */
const neverHeld = operationPermissions.request.decide;

function isOfProvider({ id }: TokenRecord): boolean {
  return id.startsWith(providerTokenPrefix);
}

function isSameHolder(one: TokenRecord, other: TokenRecord): boolean {
  const isPermittedTheSame = one.permissions.join() === other.permissions.join();
  return one.agent === other.agent && one.role === other.role && isPermittedTheSame;
}

/** The token that issues a new one, the one with which it ends, the agents whose tokens led to it, and whether a browser signed in. */
export interface TokenOrigin {
  /** Absent if the broker itself issues the token. */
  issuer?: TokenRecord;
  parent?: TokenRecord | undefined;
  issuers?: string[] | undefined;
  isSignIn?: true;
}

/** Keeps the records of all tokens in memory, in step with the store, so that a `hello` costs one hash and one look-up. */
export class TokenRegistry {
  readonly #store: TokenStore;
  readonly #byHash = new Map<string, TokenRecord>();
  readonly #byId = new Map<string, TokenRecord>();
  readonly #byAgent = new Map<string, Set<TokenRecord>>();
  readonly #byRole = new Map<string, Set<TokenRecord>>();
  /** Ids of expired tokens that {@link takeExpired} has returned. */
  readonly #expired = new Set<string>();
  /** Tokens of the identity provider that were revoked, until they expire. They are in the store, too. */
  readonly #revoked = new Map<string, TokenRecord>();
  /** The ids of tokens that this broker has changed since it asked for the changes of others, which may be older. */
  #touched: Set<string> | undefined;
  /** The ids of tokens that this broker is adding to the store. */
  readonly #adding = new Set<string>();
  /** The number of known tokens of the identity provider. */
  #ofProvider = 0;
  #onOrchestrator: (agent: string) => void = () => {};
  #onLastGone: (agent: string) => void = () => {};
  readonly #time: ExpiryClock;
  readonly #newId: () => string;

  private constructor(store: TokenStore, time: ExpiryClock, newId: () => string) {
    this.#store = store;
    this.#time = time;
    this.#newId = newId;
  }

  /** Loads every token from the store. */
  static async load(store: TokenStore, time: ExpiryClock, newId: () => string): Promise<TokenRegistry> {
    const registry = new TokenRegistry(store, time, newId);
    for (const record of await store.all()) {
      if (isOfProvider(record)) registry.#revoked.set(record.id, record);
      else registry.#remember(record);
    }
    return registry;
  }

  /** Returns the record of a token by its text, or the reason why the token is not valid. */
  authenticate(text: string): TokenRecord | 'unknown' | { expired: TokenRecord } {
    const hash = hashToken(text);
    const record = this.#byHash.get(hash);
    if (!record || !timingSafeEqual(Buffer.from(record.hash), Buffer.from(hash))) return 'unknown';
    return this.isLive(record) ? record : { expired: record };
  }

  /**
   * Adds a token of the identity provider that has just been checked. It is known until it expires, so that it can be listed and revoked.
   * If too many are known, the oldest unused one is forgotten, and must be checked again. Returns `other_holder` for a token whose id is
   * known with another holder.
   */
  admitOfProvider(
    record: TokenRecord,
    isInUse: (id: string) => boolean,
  ): TokenRecord | 'revoked' | 'other_holder' {
    if (this.#revoked.has(record.id)) return 'revoked';
    const known = this.#byId.get(record.id);
    if (known?.hash === record.hash) return known;
    if (known && !isSameHolder(known, record)) return 'other_holder';
    // Some providers give each renewed token the same id. The one that ends last counts: a revocation must last until then.
    if (known && Number(known.expiresAt) > Number(record.expiresAt)) return record;
    if (known) this.#forget(known, { isReplaced: true });
    const ofAgent = [...(this.#byAgent.get(record.agent) ?? [])].filter(isOfProvider);
    if (ofAgent.length >= mostOfProvider.agent) this.#forgetUnused(ofAgent, isInUse);
    if (this.#ofProvider >= mostOfProvider.all) this.#forgetUnused(this.list().filter(isOfProvider), isInUse);
    this.#remember(record);
    return record;
  }

  #forgetUnused(oldestFirst: readonly TokenRecord[], isInUse: (id: string) => boolean): void {
    this.#forget(oldestFirst.find(({ id }) => !isInUse(id)) ?? oldestFirst[0]!);
  }

  /** Forgets every token of the identity provider, as if none had been seen yet. Revoked ones stay revoked. */
  forgetOfProvider(): void {
    for (const record of this.list().filter(isOfProvider)) this.#forget(record);
  }

  /** Forgets the expired tokens of the identity provider, including revoked ones. */
  async dropExpiredOfProvider(): Promise<void> {
    for (const record of this.#byId.values())
      if (isOfProvider(record) && !this.isLive(record)) this.#forget(record);
    const time = this.#time.look();
    for (const { id, createdAt, expiresAt } of this.#revoked.values()) {
      if (expiresAt === undefined || !hasExpired({ createdAt, expiresAt }, time)) continue;
      await this.#store.remove(id);
      this.#revoked.delete(id);
    }
  }

  /** Notes that the changes of other brokers are being read. */
  beginChanges(): void {
    this.#touched = new Set(this.#adding);
  }

  /**
   * Applies the changes that other brokers have made since {@link beginChanges}. Returns the ids of the removed tokens. `isComplete` is
   * false if another broker may have removed a token that this one changed meanwhile: then the same changes must be read again.
   */
  takeOver({ added, ids }: TokenChanges): { removed: string[]; isComplete: boolean } {
    const touched = this.#touched ?? new Set();
    const gone: TokenRecord[] = [];
    for (const record of added) {
      const known = this.#byId.get(record.id);
      if (isOfProvider(record)) {
        this.#revoked.set(record.id, record);
        if (known) gone.push(known);
      } else if (!known && !touched.has(record.id)) this.#remember(record);
    }
    if (ids)
      for (const record of this.#byId.values())
        if (!isOfProvider(record) && !ids.has(record.id) && !touched.has(record.id)) gone.push(record);
    for (const record of gone) this.#forget(record);
    const isComplete = !ids || [...touched].every((id) => ids.has(id));
    return { removed: gone.map(({ id }) => id), isComplete };
  }

  /** Tells whether the token is known and has not expired. */
  isLive(record: TokenRecord): boolean {
    const { id, createdAt, expiresAt, damaged } = record;
    if (damaged || !this.#byId.has(id)) return false;
    return expiresAt === undefined || !hasExpired({ createdAt, expiresAt }, this.#time.look());
  }

  /** Returns the roles that live tokens give an agent. */
  rolesOf(agent: string): Set<string> {
    const roles = new Set<string>();
    for (const record of this.#byAgent.get(agent) ?? []) {
      if (this.isLive(record)) roles.add(record.role);
    }
    return roles;
  }

  /**
   * Says why a token with this role is not for an agent that is an orchestrator; `undefined` if it may be. An orchestrator may have any
   * name, and gets the tool calls of all agents: nobody else may have its name, even while its own token has expired and is not renewed.
   */
  refuseRole(agent: string, role: string): string | undefined {
    if (role === 'orchestrator' || !this.#isOrchestrator(agent)) return undefined;
    return `'${agent}' is an orchestrator, and the role of this token is '${role}'; use another agent id, or revoke the tokens of the orchestrator, including expired ones`;
  }

  #isOrchestrator(agent: string): boolean {
    if (!isAgentId(agent)) return false;
    for (const { role } of this.#byAgent.get(agent) ?? []) if (role === 'orchestrator') return true;
    return false;
  }

  /** Calls `listener` with the agent of each token that makes an agent an orchestrator, whichever broker or provider issued the token. */
  onOrchestrator(listener: (agent: string) => void): void {
    this.#onOrchestrator = listener;
  }

  /** Calls `listener` with each agent whose last token was revoked or forgotten, by this broker or another one. */
  onLastGone(listener: (agent: string) => void): void {
    this.#onLastGone = listener;
  }

  /** Tells whether a live token is for exactly this agent. */
  hasLive(agent: string): boolean {
    for (const record of this.#byAgent.get(agent) ?? []) if (this.isLive(record)) return true;
    return false;
  }

  /** Tells whether a live token makes this agent an operator or an approver. */
  isNeverHeld(agent: string): boolean {
    for (const record of this.#byAgent.get(agent) ?? [])
      if (isPermitted(neverHeld, record.permissions) && this.isLive(record)) return true;
    return false;
  }

  /** Returns the agents that live tokens make operators or approvers. */
  neverHeld(): Set<string> {
    const agents = new Set<string>();
    for (const record of this.#byId.values())
      if (isPermitted(neverHeld, record.permissions) && !record.damaged && this.isLive(record))
        agents.add(record.agent);
    return agents;
  }

  /** Returns the id of the token with which a live token of an agent ends, which usually is the minting token that issued it. */
  minterOf(agent: string): string | undefined {
    for (const record of this.#byAgent.get(agent) ?? [])
      if (record.parentId !== undefined && this.isLive(record)) return record.parentId;
    return undefined;
  }

  /** Tells whether this is a live token that decides on tool calls of a role. */
  mayDecide(id: string, role: string): boolean {
    const record = this.#byId.get(id);
    if (!record || !this.isLive(record)) return false;
    const { permissions, approves = [] } = record;
    if (permissions.includes('operator')) return true;
    return permissions.includes('approver') && approves.some((pattern) => matchesPattern(pattern, role));
  }

  /** Yields the agent of each live token with this role that is not a minting token. An agent with several tokens occurs several times. */
  *agentsOf(role: string): Generator<string> {
    for (const record of this.#byRole.get(role) ?? []) {
      if (isAgentId(record.agent) && this.isLive(record)) yield record.agent;
    }
  }

  /** Returns the roles of the known tokens, including expired ones. */
  roles(): Iterable<string> {
    return this.#byRole.keys();
  }

  /** Yields the agent and the role of each live token that is not a minting token. */
  *liveAgents(): Generator<{ agent: string; role: string }> {
    for (const record of this.#byId.values()) {
      if (isAgentId(record.agent) && this.isLive(record)) yield record;
    }
  }

  /** Returns the ids of tokens that expired since the last call. The first call returns all expired ones. */
  takeExpired(): string[] {
    const expired: string[] = [];
    for (const record of this.#byId.values()) {
      // A provider's tokens are short-lived and renewed regularly: requests that were sent with one continue.
      if (record.damaged || isOfProvider(record) || this.isLive(record) || this.#expired.has(record.id))
        continue;
      this.#expired.add(record.id);
      expired.push(record.id);
    }
    return expired;
  }

  /** Returns every token, including expired ones. */
  list(): TokenRecord[] {
    return [...this.#byId.values()];
  }

  /** Returns the number of live tokens that a minting token issued. */
  liveChildren(parentId: string): number {
    let count = 0;
    for (const record of this.#byId.values())
      if (record.parentId === parentId && this.isLive(record)) count++;
    return count;
  }

  /** Removes child tokens of minting tokens that expired `ageMs` ago, at most `limit` of them. */
  async removeExpiredChildren(ageMs: number, limit: number): Promise<void> {
    const time = this.#time.look();
    const old = this.list().filter(
      ({ id, parentId, createdAt, expiresAt }) =>
        parentId !== undefined &&
        this.#expired.has(id) &&
        expiresAt !== undefined &&
        hasExpired({ createdAt, expiresAt: expiresAt + ageMs }, time),
    );
    for (const record of old.slice(0, limit)) await this.#remove(record);
  }

  /** Returns the token with this id. */
  get(id: string): TokenRecord | undefined {
    return this.#byId.get(id);
  }

  /**
   * Issues a token that the rules allow. Only its hash is stored, so that its text can't be read again. `eventOf` makes the event for the
   * audit log: no token exists without it, and it is not recorded for a token that is refused. Resolves with `undefined` if the issuer was
   * revoked meanwhile, at any broker.
   */
  async issue(
    request: TokenRequest,
    eventOf: (record: TokenRecord) => AuditEvent,
    { issuer, parent, issuers, isSignIn }: TokenOrigin = {},
  ): Promise<{ record: TokenRecord; token: string } | undefined> {
    const token = tokenText(request.agent, newSecret());
    const now = this.#time.now();
    const expiresAt = expiryOf(request, parent, now);
    const record: TokenRecord = {
      id: this.#newId(),
      hash: hashToken(token),
      agent: request.agent,
      role: request.role,
      permissions: permissionsOf(request),
      ...(request.roles && { roles: [...new Set(request.roles)] }),
      ...(request.approves && { approves: [...new Set(request.approves)] }),
      ...(issuers && { issuers }),
      createdAt: now,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(parent && { parentId: parent.id }),
      ...(isSignIn && { isSignIn }),
    };
    const by = issuer && { id: issuer.id, isStored: !isOfProvider(issuer) };
    this.#touched?.add(record.id);
    this.#adding.add(record.id);
    try {
      if (!(await this.#store.add(record, by, eventOf(record)))) return undefined;
    } finally {
      this.#adding.delete(record.id);
    }
    this.#touched?.add(record.id);
    if (!this.#byId.has(record.id)) this.#remember(record);
    return { record, token };
  }

  /**
   * Removes a token, its child tokens and theirs, also those that another broker issued a moment ago. Returns their ids. `eventOf` makes
   * the event for the audit log from the ids of those that were stored.
   */
  async revoke(id: string, eventOf: (removed: readonly string[]) => AuditEvent): Promise<string[]> {
    const record = this.#byId.get(id);
    return record ? this.#remove(record, eventOf) : [];
  }

  #withDescendants(first: TokenRecord): Set<TokenRecord> {
    const found = new Set([first]);
    const children = Map.groupBy(this.#byId.values(), ({ parentId }) => parentId);
    // A set that grows is iterated over to its end.
    for (const record of found) for (const child of children.get(record.id) ?? []) found.add(child);
    return found;
  }

  async #remove(
    record: TokenRecord,
    eventOf?: (removed: readonly string[]) => AuditEvent,
  ): Promise<string[]> {
    this.#touched?.add(record.id);
    const isKept = isOfProvider(record);
    if (isKept) this.#revoked.set(record.id, record);
    const removed = await this.#store.remove(record.id, isKept ? record : undefined, eventOf);
    const gone = new Set([record.id, ...removed]);
    for (const { id } of this.#withDescendants(record)) gone.add(id);
    for (const id of gone) {
      this.#touched?.add(id);
      const known = this.#byId.get(id);
      if (known) this.#forget(known);
    }
    return [...gone];
  }

  #forget(record: TokenRecord, { isReplaced = false } = {}): void {
    if (this.#byId.delete(record.id) && isOfProvider(record)) this.#ofProvider--;
    this.#byHash.delete(record.hash);
    this.#expired.delete(record.id);
    removeFrom(this.#byAgent, record.agent, record);
    removeFrom(this.#byRole, record.role, record);
    if (!isReplaced && !this.#byAgent.has(record.agent)) this.#onLastGone(record.agent);
  }

  #remember(record: TokenRecord): void {
    this.#byId.set(record.id, record);
    if (isOfProvider(record)) this.#ofProvider++;
    if (record.damaged) return;
    this.#byHash.set(record.hash, record);
    addTo(this.#byAgent, record.agent, record);
    addTo(this.#byRole, record.role, record);
    if (record.role === 'orchestrator') this.#onOrchestrator(record.agent);
  }
}

function addTo(index: Map<string, Set<TokenRecord>>, key: string, record: TokenRecord): void {
  const records = index.get(key) ?? new Set();
  index.set(key, records.add(record));
}

function removeFrom(index: Map<string, Set<TokenRecord>>, key: string, record: TokenRecord): void {
  const records = index.get(key);
  records?.delete(record);
  if (records?.size === 0) index.delete(key);
}
