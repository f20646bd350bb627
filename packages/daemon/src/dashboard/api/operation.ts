import type { SignIn } from '@signalbox/broker';
import type { BrokerClient } from '@signalbox/client';
import { isAddress, type Permission, SignalboxError } from '@signalbox/protocol';
import { z } from 'zod';
import type { ListedRoles } from '../../config/internal.ts';
import type { BrokerAccess } from '../access.ts';
import type { SignInBackup } from '../sign-ins/sign-in-backup.ts';

/** The caller of an operation, and the connections that its answer comes from. */
export interface ApiContext {
  client: BrokerClient;
  /** The agent id of the orchestrator. */
  orchestrator: string;
  /** Returns the roles that the configuration in force lists. */
  listed?: (() => ListedRoles) | undefined;
  signedIn: Omit<SignIn, 'token'>;
  tokens: BrokerAccess['tokens'];
  /** The latest backup that the sign-in made, or is making. */
  backup: Pick<SignInBackup, 'state' | 'begin'>;
  /** The `Idempotency-Key` of a command. */
  key: string | undefined;
  /** Returns epoch milliseconds. */
  now: () => number;
}

/** One path of the API: a read with `GET`, whose parameters are in the query, or a command with `POST`, whose parameters are JSON. */
export interface ApiOperation<Params = never> {
  method: 'GET' | 'POST';
  /** A sign-in needs one of these permissions. */
  needs: readonly Permission[];
  meaning: string;
  /** True if the answer is a secret, which is forgotten after a minute. */
  isSecret?: true;
  params: z.ZodType<Params>;
  run(context: ApiContext, params: Params): Promise<unknown>;
}

/** Reads the address of an inbox. */
export const address = z.string().refine(isAddress, { error: 'must be an address, such as rosa or rosa#x' });

/** Makes an operation whose parameters have the type that their schema reads. */
export function operation<Schema extends z.ZodType>(
  described: Omit<ApiOperation<z.infer<Schema>>, 'params' | 'run'> & {
    params: Schema;
    run(context: ApiContext, params: z.infer<Schema>): Promise<unknown>;
  },
): ApiOperation {
  return described as unknown as ApiOperation;
}

/** Reads parameters. Throws `bad_request`, which names the parameter. */
export function readParams(schema: z.ZodType, given: unknown): unknown {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  const name = path.length === 0 ? 'the parameters' : `'${path.join('.')}'`;
  throw new SignalboxError('bad_request', `${name}: ${message}`);
}
