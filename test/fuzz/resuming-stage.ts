import { runResuming } from "../e2e/support/resuming.ts";
import { startServer } from "../e2e/support/server.ts";
import type { FuzzStage } from "./stage.ts";

export const RESUMING_STAGE: FuzzStage = {
  name: "resuming",
  runs: 100_000,
  async run(seed, runs, say) {
    const server = await startServer();
    try {
      const { cuts, resumed } = await runResuming(server, seed, runs);
      say(`${cuts} cuts, ${resumed} of them resumed without a snapshot; the same books and account in the end`);
    } finally {
      await server.dispose();
    }
  },
};
