import { runReplicator } from "../src/actor/threads/replicator-main.ts";

export default runReplicator;
