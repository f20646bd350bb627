import { flushCompileCache } from 'node:module';
import {
  checkListeners,
  exposedConfiguration,
  exposesConfiguration,
  findConfig,
  searchedText,
  withExposureChecked,
} from '@signalbox/daemon/config/internal';
import { dataDirectory } from '@signalbox/daemon/data-directory';
import { reportToSupervisor } from '@signalbox/daemon/supervisor';
import { configOptions } from '../config/config-options.ts';
import { a2aParts, brokerParts, faceParts } from '../config/config-parts.ts';
import { loadFound } from '../config/load-found.ts';
import { childEnvironment } from './child-environment.ts';
import { listenOption } from './listen-option.ts';
import type { PlanRequest, UpPlan } from './plan-request.ts';

/**
 * Reads the configuration for `signalbox up` and reports a {@link UpPlan} to it. This is a process of its own, which ends then: what
 * reading a configuration takes of memory would stay in the supervisor as long as it runs.
 */
export async function reportUpPlan(request: PlanRequest): Promise<void> {
  const found = findConfig(request.config, { search: request.search });
  const config = await loadFound(found);
  const dataDir = dataDirectory(request.data, config);
  withExposureChecked(config, { dataDir }, { allowExposed: request.allowExposed });
  const listen = listenOption(request.listen);
  checkListeners(config, { listen, insecure: request.insecure });
  const { http } = config.worker;
  const servers = Object.entries(config.mcpServers);
  const child = found && ({ file: found.file, by: 'option' } as const);
  const env = childEnvironment(process.env);
  const [broker, orchestrator, face, a2a] = await Promise.all([
    loadFound(child, { env, parts: brokerParts }),
    loadFound(child, { env }),
    loadFound(child, { env, parts: faceParts({ http: http !== undefined }) }),
    config.a2a && loadFound(child, { env, parts: a2aParts }),
  ]);
  const plan: UpPlan = {
    ...(found && { file: found.file }),
    dataDir,
    listen: listen ?? config.broker.listen,
    ...(http && { http }),
    servers: servers.map(([name]) => name),
    started: servers.flatMap(([name, { disabled }]) => (disabled ? [] : [name])),
    searched: searchedText(),
    where: !found || request.data !== undefined ? ['--data', dataDir] : configOptions(found.file),
    exposed: exposedConfiguration(config, dataDir),
    approval: {
      isExposed: exposesConfiguration(config),
      files: config.files,
      imports: config.imports.map(({ file, pointer }) => ({ file, pointer })),
    },
    configs: { broker, orchestrator, face, ...(a2a && { a2a }) },
  };
  // The supervisor ends this process when it has the plan.
  flushCompileCache();
  await reportToSupervisor({ ready: { ...plan } });
}
