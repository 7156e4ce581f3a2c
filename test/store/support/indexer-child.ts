import { openDatabase } from "../../../src/store/database/database.ts";
import { Indexer } from "../../../src/store/indexer/indexer.ts";
import { INSTRUMENTS } from "./history-model.ts";
import { RETENTION } from "./logged.ts";

/** Indexes a log a few turns at a time, saying so after each, until it is killed. Arguments: folder, last sequence. */
const [, , dir = "", last = ""] = process.argv;
const database = openDatabase(dir, { probe: false });
const indexer = new Indexer({
  database,
  logDir: `${dir}/log`,
  instruments: INSTRUMENTS,
  actorIds: [],
  retention: RETENTION,
  onSnapshotStored: () => {},
});
while (indexer.indexedSequence < Number(last)) {
  indexer.step(Math.min(indexer.indexedSequence + 3, Number(last)));
  process.stdout.write(`${indexer.indexedSequence}\n`);
}
