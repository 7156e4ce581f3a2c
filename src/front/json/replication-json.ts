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

/** Two processes may have begun to lead, but only one of them has a lease that holds. */
export function roleOf(replication: ReplicationStatus | null): Static<typeof Replication>["role"] {
  if (replication === null) return "ALONE";
  if (replication.epoch === 0) return "STANDBY";
  return replication.leaseLeftMs >= 0 ? "LEADER" : "LEADER_WITHOUT_LEASE";
}
