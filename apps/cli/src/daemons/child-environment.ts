/**
 * Returns the environment of the children of `signalbox up`: without the variables that name this shell's broker and agent, since they
 * find theirs in the data directory, and with one arena of malloc (ADR 35).
 */
export function childEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { SIGNALBOX_URL, SIGNALBOX_AGENT, SIGNALBOX_TOKEN, SIGNALBOX_TOKEN_FILE, ...rest } = env;
  return { MALLOC_ARENA_MAX: '1', ...rest };
}
