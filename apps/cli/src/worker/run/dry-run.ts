import { type AgentPlan, type AgentSetup, planAgent } from '@signalbox/worker/internal';
import { printJson, printLines } from '../../terminal/output.ts';
import { shellWords } from '../../terminal/shell-words.ts';

/** Stands for the directory that is created for each process. */
const runDirectory = '/RUN-DIRECTORY';
/** Stands for the socket of the face that serves all agents of the command. */
const faceSocket = '/FACE-DIRECTORY/face.sock';

/** Prints what each agent would be started with, by default by `worker run`. No token is issued, so none is shown. */
export function printPlans(
  setups: readonly AgentSetup[],
  {
    json,
    plan = planAgent,
  }: { json: boolean; plan?: (setup: AgentSetup, runDirectory: string) => AgentPlan },
): void {
  const plans = setups.map((setup) => ({
    agent: setup.agent,
    cwd: setup.cwd,
    ...plan({ ...setup, faceSocket }, runDirectory),
  }));
  if (json) {
    const agents = plans.map(({ agent, cwd, variables, tokenFile, injection }) => {
      const { client, argv, files, workspace, notes } = injection;
      return {
        agent,
        client,
        cwd,
        argv,
        env: variables,
        token_file: tokenFile,
        files,
        ...(workspace && { workspace }),
        notes,
      };
    });
    printJson({ run_directory: runDirectory, face_socket: faceSocket, agents });
    return;
  }
  printLines(
    ...plans.flatMap(planLines),
    `${runDirectory} stands for a private directory (0700) that is made for each process and removed after it.`,
    `${faceSocket} stands for the socket in a private directory of this command, at which it serves the tools of all its agents.`,
  );
}

type Plan = AgentPlan & { agent: string; cwd: string };

function planLines({ agent, cwd, variables, tokenFile, ownsTokenFile, injection }: Plan): string[] {
  const { argv, files, workspace, notes } = injection;
  return [
    `${agent} would be started in ${cwd} as`,
    `  ${shellWords(...argv)}`,
    'with these variables, SIGNALBOX_* of this shell left out',
    ...Object.entries(variables).map(([name, value]) => `  ${name}=${shellWords(value)}`),
    'and these files (0600)',
    `  ${tokenFile}: its token, ${ownsTokenFile ? 'made when it starts' : 'which the holder of that file renews'}`,
    ...files.flatMap(({ path, text }) => [
      `  ${path}:`,
      ...text
        .trimEnd()
        .split('\n')
        .map((line) => `    ${line}`),
    ]),
    ...(workspace
      ? [
          `  ${workspace.path}, while it runs, gets ${workspace.keys.join('.')}:`,
          `    ${JSON.stringify(workspace.value)}`,
        ]
      : []),
    ...notes.map((note) => `note: ${note}`),
    '',
  ];
}
