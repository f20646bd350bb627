type Environment = Readonly<Record<string, string | undefined>>;

/** All that a supervised process gets of the environment we were started in: nothing that says who *we* are. */
export function inheritedEnvironment(own: Environment): Record<string, string> {
  const kept = Object.entries(own).filter(
    ([name, value]) => value !== undefined && !name.startsWith('SIGNALBOX_'),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}

/** Who an agent is and where its broker is, for everything it starts. The token itself stays in its file. */
export function agentVariables(facts: {
  url: string;
  agent: string;
  tokenFile: string;
}): Record<string, string> {
  return {
    SIGNALBOX_URL: facts.url,
    SIGNALBOX_AGENT: facts.agent,
    SIGNALBOX_TOKEN_FILE: facts.tokenFile,
  };
}
