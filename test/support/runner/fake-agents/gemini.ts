import { readFileSync } from 'node:fs';
import { actAsAgent } from './fake-agent.ts';

/** Gemini CLI reads the system settings that a variable names. */
const settings = JSON.parse(readFileSync(process.env.GEMINI_CLI_SYSTEM_SETTINGS_PATH ?? '', 'utf8'));
const { command, args, env, ...read } = settings.mcpServers.signalbox;
await actAsAgent({ command, args, env, handsOn: 'everything', read });
