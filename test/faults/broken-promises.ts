import type { CampaignReport } from './campaign.ts';
import { doubledOf, lostOf } from './oracle.ts';

/** Returns what a campaign found against all promises together, so that a failure shows every broken one. */
export function brokenPromises({ verdict, crashes }: CampaignReport) {
  return {
    lost: lostOf(verdict),
    doubled: doubledOf(verdict),
    misreported: verdict.misreported,
    endedTwice: verdict.endedTwice,
    crashes,
  };
}

/** No promise is broken. */
export const none = { lost: [], doubled: [], misreported: [], endedTwice: 0, crashes: [] };
