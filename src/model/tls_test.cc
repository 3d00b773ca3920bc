// TLS: a server whose certificate nobody vouches for is not told the key.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/temp_dir.h"
#include "model/open_model.h"
#include "model/test_server.h"
#include "model/test_streams.h"

namespace kb {
namespace {

using ::testing::HasSubstr;

// A key, and a certificate for 127.0.0.1 that it signed itself.
struct Identity {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_EC_gen("P-256"), EVP_PKEY_free};
  std::unique_ptr<X509, decltype(&X509_free)> certificate{X509_new(), X509_free};

  Identity() {
    X509* const x509 = certificate.get();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key.get());
    X509_NAME* const name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(x509, name);
    X509_EXTENSION* const host = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(x509, host, -1);
    X509_EXTENSION_free(host);
    KB_CHECK(X509_sign(x509, key.get(), EVP_sha256()) > 0);
  }

  void Write(const std::filesystem::path& path) const {
    FILE* const file = fopen(path.c_str(), "w");
    PEM_write_X509(file, certificate.get());
    fclose(file);
  }
};

// Answers every connection with one stream, if the handshake succeeds.
class TlsServer {
 public:
  explicit TlsServer(const Identity& identity) {
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_, identity.key.get());
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    KB_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener_, 8) == 0);
    KB_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TlsServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
    SSL_CTX_free(context_);
  }

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }
  int requests() const { return requests_; }  // that came through

 private:
  void Serve() {
    for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; close(fd)) {
      ++connections_;
      SSL* const ssl = SSL_new(context_);
      SSL_set_fd(ssl, fd);
      if (SSL_accept(ssl) == 1) {
        char buffer[65536];
        const int got = SSL_read(ssl, buffer, sizeof buffer);
        if (got > 0) {
          ++requests_;
          const std::string answer = StreamHead() + Chunk(Joined(ChatStream({"over TLS"}))) + Chunk("");
          SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
          SSL_shutdown(ssl);
        }
      }
      SSL_free(ssl);
    }
  }

  SSL_CTX* context_ = nullptr;
  int listener_ = -1, port_ = 0;
  std::atomic<int> connections_ = 0, requests_ = 0;
  std::thread thread_;
};

TEST(TlsTest, OnlyACertificateThatIsTrustedIsTalkedTo) {
  const auto directory = TempDir::Create("kb-tls");
  const Identity identity, other;
  TlsServer server(identity);
  const auto ask = [&](const Identity& trusted) {
    trusted.Write(directory->path() / "trusted.pem");
    setenv("CURL_CA_BUNDLE", (directory->path() / "trusted.pem").c_str(), 1);
    const auto provider = OpenModel(QuickSettings(ProviderKind::kOpenAi, server.url()));
    KB_CHECK(provider.has_value());
    auto answer = (*provider)->Complete({.model = "m", .messages = {{Role::kUser, "hello"}}}, nullptr);
    unsetenv("CURL_CA_BUNDLE");
    return answer;
  };
  const auto refused = ask(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().message, HasSubstr("certificate"));
  EXPECT_EQ(server.connections(), 1);  // trying again would not mend it
  EXPECT_EQ(server.requests(), 0);

  const auto answer = ask(identity);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text, "over TLS");
}

}  // namespace
}  // namespace kb
