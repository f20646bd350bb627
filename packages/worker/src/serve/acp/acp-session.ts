import { z } from 'zod';
import type { FaceCommand } from '../../agent-clis/injection.ts';
import { serverName } from '../../agent-clis/injection.ts';
import type { TalkProcess, TurnTalk } from '../program/turn-program.ts';
import { type AcpConnection, isAnswer } from './acp-connection.ts';

/** The only version that is spoken. Asked for a later one, some agents answer in a dialect that is not finished. */
const protocolVersion = 1;
/** The most pages of a list of sessions that are read. */
const maxPages = 50;

const offer = z.unknown().optional();
const initializeSchema = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().nullish(),
      sessionCapabilities: z.object({ resume: offer, list: offer }).nullish(),
    })
    .nullish(),
  agentInfo: z.object({ name: z.string(), version: z.string().nullish() }).nullish().catch(undefined),
});
const modesSchema = z.object({
  currentModeId: z.string(),
  availableModes: z.array(z.object({ id: z.string() })),
});
const openedSchema = z.object({ modes: modesSchema.nullish().catch(undefined) }).nullish();
const newSchema = z.object({ sessionId: z.string(), modes: modesSchema.nullish().catch(undefined) });
const listSchema = z.object({
  sessions: z.array(z.object({ sessionId: z.string() })),
  nextCursor: z.string().nullish(),
});

/** The offers and the name of an agent, in its own words. */
export interface AcpOffers {
  canLoad: boolean;
  canResume: boolean;
  canList: boolean;
  info: string | undefined;
}

/** An open session. */
export interface AcpSession {
  id: string;
  /** The ids of its modes; absent if the agent names none. */
  modes: readonly string[] | undefined;
  currentMode: string | undefined;
}

/** Begins to speak. We offer neither files nor a terminal. Throws if the agent speaks another version. */
export async function initialize(connection: AcpConnection, version: string): Promise<AcpOffers> {
  const told = await connection.request(
    'initialize',
    {
      protocolVersion,
      clientInfo: { name: 'signalbox', version },
      clientCapabilities: { session: { notices: {} } },
    },
    initializeSchema,
  );
  if (told.protocolVersion !== protocolVersion)
    throw new Error(
      `it speaks version ${told.protocolVersion} of ACP, and only ${protocolVersion} is known here`,
    );
  const { loadSession, sessionCapabilities } = told.agentCapabilities ?? {};
  const { name, version: own } = told.agentInfo ?? {};
  return {
    canLoad: loadSession === true,
    canResume: isOffered(sessionCapabilities?.resume),
    canList: isOffered(sessionCapabilities?.list),
    info: name === undefined ? undefined : [name, own].filter(Boolean).join(' '),
  };
}

function isOffered(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

type Opening = Pick<TalkProcess, 'cwd' | 'server'> & Pick<TurnTalk, 'session' | 'warn'>;

/**
 * Continues the session of the turn, or begins one. A session that the agent no longer lists is replaced by a new one; while it is listed,
 * an error is a failure of the turn. `onLoading` is called around a load, in which the agent repeats everything that was said.
 */
export async function openSession(
  connection: AcpConnection,
  offers: AcpOffers,
  opening: Opening & {
    meta?: Readonly<Record<string, unknown>> | undefined;
    onLoading: (isLoading: boolean) => void;
  },
): Promise<AcpSession> {
  const { cwd, session, server, meta, warn } = opening;
  const place = { cwd, mcpServers: server ? [stdioServer(server)] : [], ...(meta && { _meta: meta }) };
  if (session !== undefined && (offers.canResume || offers.canLoad)) {
    try {
      return await continued(connection, offers, { ...place, sessionId: session }, opening.onLoading);
    } catch (thrown) {
      if (!isAnswer(thrown) || (offers.canList && (await isListed(connection, session)))) throw thrown;
      warn('session_lost', `the session ${session} is gone, and a new one was begun: ${thrown.message}`);
    }
  } else if (session !== undefined) {
    warn('session_lost', 'the agent continues no sessions, and a new one was begun');
  }
  const { sessionId, modes } = await connection.request('session/new', place, newSchema);
  return sessionOf(sessionId, modes);
}

async function continued(
  connection: AcpConnection,
  { canResume }: AcpOffers,
  params: { sessionId: string },
  onLoading: (isLoading: boolean) => void,
): Promise<AcpSession> {
  const { sessionId } = params;
  if (canResume)
    return sessionOf(sessionId, (await connection.request('session/resume', params, openedSchema))?.modes);
  onLoading(true);
  try {
    const told = await connection.request('session/load', params, openedSchema);
    return sessionOf(sessionId, told?.modes);
  } finally {
    onLoading(false);
  }
}

function sessionOf(id: string, modes: z.infer<typeof modesSchema> | null | undefined): AcpSession {
  return { id, modes: modes?.availableModes.map((mode) => mode.id), currentMode: modes?.currentModeId };
}

async function isListed(connection: AcpConnection, session: string): Promise<boolean> {
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const told = await connection.request('session/list', cursor === undefined ? {} : { cursor }, listSchema);
    if (told.sessions.some(({ sessionId }) => sessionId === session)) return true;
    cursor = told.nextCursor ?? undefined;
    if (cursor === undefined) return false;
  }
  // Nobody knows: the session may be on a later page.
  return true;
}

function stdioServer({ command, args, env }: FaceCommand) {
  const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
  return { name: serverName, command, args, env: variables };
}
