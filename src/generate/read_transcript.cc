#include "generate/relayed.h"
#include "generate/transcript.h"
#include "store/store.h"

namespace kb {

Result<std::optional<Transcript>> ReadTranscript(const Store& store, const std::string& run,
                                                 const GenerationRequest& request) {
  KB_ASSIGN_OR_RETURN(const std::optional<Episode> episode, store.FindEpisode(request.id));
  if (!episode) return std::nullopt;
  Transcript transcript{.run = run, .request = request, .episode = *episode};
  ParseOpening(&transcript);
  std::map<int, size_t> places;
  KB_ASSIGN_OR_RETURN(const std::vector<Turn> turns, store.Turns(request.id));
  for (const Turn& turn : turns) {
    places[turn.number] = transcript.turns.size();
    transcript.turns.push_back(ParseTurn(turn));
  }
  ReadRelayed(&transcript);
  KB_ASSIGN_OR_RETURN(const std::vector<TurnVerdict> verdicts, store.TurnVerdicts(request.id));
  for (const TurnVerdict& verdict : verdicts) {
    const auto place = places.find(verdict.turn);
    if (place != places.end()) transcript.turns[place->second].verdicts.push_back(verdict);
  }
  KB_ASSIGN_OR_RETURN(const auto files, store.TurnFiles(request.id));
  AddFileChanges(
      files, [&](const std::string& sha256) { return store.Source(sha256); }, &transcript);
  KB_ASSIGN_OR_RETURN(std::vector<GenerationAnswer> answers, store.AnswersTo(request.id));
  if (!answers.empty()) {
    transcript.submitted = std::move(answers.back());
    KB_ASSIGN_OR_RETURN(transcript.evaluation,
                        store.CandidateEvaluation(run, request.model, request.problem, request.candidate));
  }
  return transcript;
}

}  // namespace kb
