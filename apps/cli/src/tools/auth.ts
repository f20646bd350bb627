import type { OperatorFlags } from '../connection/operator-request.ts';
import { signInServer } from './sign-in-server.ts';

export interface ToolsAuthFlags extends OperatorFlags {
  signOut?: boolean;
  port?: number;
}

/** Signs a person in to a server, or forgets the sign-in. */
export async function authorizeServer(name: string, flags: ToolsAuthFlags): Promise<void> {
  const found = await signInServer(name, flags);
  // It loads the MCP host, which takes its time.
  const { signInTo, signOutOf } = await import('./sign-in.ts');
  await (flags.signOut ? signOutOf : signInTo)(name, found, flags);
}
