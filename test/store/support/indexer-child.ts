import { openDatabase } from "../../../src/store/database/database.ts";
import { Keeper } from "../../../src/store/indexer/indexer.ts";
import { INSTRUMENTS } from "./history-model.ts";

/** Indexes a log a few turns at a time, saying so after each, until it is killed. Arguments: folder, last sequence. */
const [, , dir = "", last = ""] = process.argv;
const database = openDatabase(dir, { probe: false });
const keeper = new Keeper({
  database,
  logDir: `${dir}/log`,
  instruments: INSTRUMENTS,
  actorIds: [],
  onSnapshotStored: () => {},
});
while (keeper.indexedSequence < Number(last)) {
  keeper.step(Math.min(keeper.indexedSequence + 3, Number(last)));
  process.stdout.write(`${keeper.indexedSequence}\n`);
}
