import type { Engine, ReplicationStatus } from "../../actor/engine/engine.ts";
import type { Static } from "../../packages/typebox.ts";
import type { Replication } from "../../wire/schema/system.ts";

export function printReplication(engine: Pick<Engine, "replication" | "releasedSequence">): string {
  const { replication } = engine;
  const state: Static<typeof Replication> = {
    role: roleOf(replication),
    leader: replication?.leaderUrl ?? null,
    epoch: replication?.epoch ?? 0,
    sequence: engine.releasedSequence(),
    lagTransactions: replication?.lagTransactions ?? 0,
    lagMs: replication?.lagMs ?? null,
    standbys: [...(replication?.standbys ?? [])],
    serverTime: Date.now(),
  };
  return JSON.stringify(state);
}

export const roleOf = (replication: ReplicationStatus | null): Static<typeof Replication>["role"] =>
  replication === null ? "ALONE" : replication.epoch > 0 ? "LEADER" : "STANDBY";
