import type { Engine } from "../../actor/engine/engine.ts";
import { ApiError } from "../common/errors.ts";

type Replicated = Pick<Engine, "replication">;

/** Whether this process follows another one, or waits until it may lead. */
export const isFollower = ({ replication }: Replicated): boolean => replication?.isFollowing === true;

/** The refusal of a process that does not lead. Its details name the leader's address, if it is known. */
export function notLeader({ replication }: Replicated): ApiError {
  const leader = replication?.leaderUrl ?? null;
  return new ApiError("NOT_LEADER", leader === null ? {} : { details: { leader } });
}

/** The part that transactions wait for while Engine.isStalled. */
export const stalledPart = ({ replication }: Replicated): string =>
  (replication?.lagTransactions ?? 0) > 0 ? "the replicated stream" : "the disk";
