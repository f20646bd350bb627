import type { Catalog } from '../../catalog/catalog.ts';
import { type Call, continuesRunning } from '../call.ts';
import type { Attempt, Step } from '../step.ts';
import { admit } from '../tool-refusals.ts';

/** Refuses a call of a tool that its role may not call now, and finds the server of the tool. */
export const allowlist: Step<Attempt> = {
  name: 'allowlist',
  explain({ catalog, role, name, origin }) {
    const { allowed, rule } = catalog.allowlist.explain(role, name, origin);
    const { refusal } = admit(catalog, role, name);
    return refusal
      ? { verdict: 'refused', says: refusal.message, rule }
      : { verdict: allowed ? 'passes' : 'refused', says: 'the role may call this tool', rule };
  },
  before(next, { host, catalogs }) {
    const judge = (call: Call, catalog: Catalog): ReturnType<typeof next> => {
      const { role, tool: name } = call.name;
      call.catalog = catalog;
      call.isContinued = call.body.round !== undefined && continuesRunning(host, call);
      const { tool, refusal, isForbidden } = admit(catalog, role, name, { runs: call.isContinued });
      call.tool = tool;
      call.route = host.route(name);
      call.server = call.route.server;
      call.isCompared = call.asked !== undefined && !call.isContinued;
      // A call that is compared goes on while its server is away.
      if (refusal && (!call.isCompared || isForbidden)) return { error: refusal };
      return next(call);
    };
    return (call) => {
      const { latest } = catalogs;
      return latest ? judge(call, latest) : catalogs.current().then((catalog) => judge(call, catalog));
    };
  },
};
